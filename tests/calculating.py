"""Calculators that tests share."""

from __future__ import annotations

from dataclasses import replace

from fastapi import FastAPI

from service.api.calculators.pool import Calculators


def computing_by(calculators: Calculators, app: FastAPI) -> FastAPI:
    """An application that computes in calculators which others use as well."""
    app.state.services = replace(app.state.services, calculators=calculators)
    return app
