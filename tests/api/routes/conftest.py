from __future__ import annotations

import pytest
from fastapi import FastAPI

from service.api.calculators.pool import Calculators
from tests.calculating import computing_by


@pytest.fixture
def app(app: FastAPI, calculators: Calculators) -> FastAPI:
    return computing_by(calculators, app)
