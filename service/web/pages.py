"""All pages: plain HTML that needs no script, shows nothing before the verdict, and escapes everything."""

from __future__ import annotations

from fastapi import APIRouter

from service.web import collecting, downloads, listing, record, signing, strangers

ROUTERS: tuple[APIRouter, ...] = (
    signing.routes,
    listing.routes,
    record.routes,
    collecting.routes,
    collecting.streams,
    downloads.routes,
    strangers.routes,
    strangers.files,
)
