"""All pages: plain HTML that needs no script, shows nothing before the verdict, and escapes everything."""

from __future__ import annotations

from fastapi import APIRouter

from service.web import (
    audit_page,
    catalogue,
    collecting,
    downloads,
    jobs_page,
    keys_page,
    leaderboards,
    listing,
    plan_page,
    questions,
    record,
    series_page,
    signing,
    strangers,
    wizard,
)

ROUTERS: tuple[APIRouter, ...] = (
    signing.routes,
    listing.routes,
    record.routes,
    plan_page.routes,
    wizard.routes,
    collecting.routes,
    collecting.streams,
    downloads.routes,
    catalogue.routes,
    questions.routes,
    leaderboards.routes,
    series_page.routes,
    jobs_page.routes,
    audit_page.routes,
    keys_page.routes,
    strangers.routes,
    strangers.files,
)
