"""All pages: plain HTML that needs no script, shows nothing before the verdict, and escapes everything."""

from __future__ import annotations

from fastapi import APIRouter

from service.web.calculations import catalogue, leaderboards, questions
from service.web.plans import plan_page, wizard
from service.web.preregistrations import (
    downloads,
    items_page,
    list_page,
    progress_page,
    public_page,
    record_page,
    slices_page,
)
from service.web.projects import audit_page, jobs_page, keys_page, overview_page, series_page
from service.web.visitors import sign_in, single_sign_on

ROUTERS: tuple[APIRouter, ...] = (
    sign_in.routes,
    single_sign_on.routes,
    overview_page.routes,
    list_page.routes,
    record_page.routes,
    plan_page.routes,
    wizard.routes,
    progress_page.routes,
    items_page.routes,
    slices_page.routes,
    progress_page.streams,
    downloads.routes,
    catalogue.routes,
    questions.routes,
    leaderboards.routes,
    series_page.routes,
    jobs_page.routes,
    audit_page.routes,
    keys_page.routes,
    public_page.routes,
    public_page.files,
)
