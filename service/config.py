"""Settings of one deployment, read once from `FORELOCK_…` variables and passed down from the doors."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024


OTHERS = frozenset({"FORELOCK_URL", "FORELOCK_API_KEY", "FORELOCK_PARENT_PIPE", "FORELOCK_METRICS_DIR"})
"""Variables of the client, and of the supervisor."""


class UnusableSetting(ValueError):
    """A variable or an option that cannot be what it says; one sentence."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Settings(BaseSettings):
    """Every setting has a default that is right for one laptop."""

    model_config = SettingsConfigDict(
        env_prefix="FORELOCK_", env_ignore_empty=True, frozen=True, extra="ignore", allow_inf_nan=False
    )

    data_dir: Path = Field(Path(".forelock"), description="Embedded database, keys and the runner's socket.")
    database_url: str | None = Field(
        None, description="SQLAlchemy URL of Postgres; unset: SQLite in the data directory."
    )
    runner_database_url: str | None = Field(
        None, description="The runner's own Postgres role, if it has one."
    )
    host: str = Field("127.0.0.1", description="Address the API binds.")
    port: int = Field(8321, ge=0, le=65535, description="Port the API binds; 0 takes a free one.")
    workers: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Processes that answer requests; unset: two with Postgres and two cores or more, otherwise one.",
    )
    pool_size: int = Field(20, ge=1, le=500, description="Database connections of one API process.")
    max_body_bytes: int = Field(64 * MIB, ge=1024, description="Largest request body, as sent.")
    max_expanded_bytes: int = Field(64 * MIB, ge=1024, description="Largest body after gzip.")
    max_import_bytes: int = Field(1024 * MIB, ge=1024, description="Largest file of an import, as sent.")
    max_rows: int = Field(
        1_000_000, ge=1, le=1_000_000, description="Rows of one batch, and items of one manifest."
    )
    key_cache_seconds: float = Field(5.0, ge=0, le=60, description="How long a revoked key may still work.")
    job_lease_seconds: float = Field(
        60.0, gt=0, le=86_400, description="A runner that stays silent this long loses its job."
    )
    job_attempt_seconds: float = Field(
        1800.0,
        gt=0,
        le=2_592_000,
        description="A shard or an uncut job that computes longer than this is failed.",
    )
    job_max_attempts: int = Field(
        3, ge=1, description="A job whose runners or workers die this often without getting on is failed."
    )
    job_result_days: float = Field(
        7.0, gt=0, le=36_500, description="How long a finished job and its answer are kept; verdicts stay."
    )
    project_jobs: int = Field(10_000, ge=1, description="Jobs that one project may have waiting or running.")
    project_job_bytes: int = Field(
        1024 * MIB,
        ge=1,
        description="Bytes of requests that one project's waiting and running jobs may keep.",
    )
    project_drafts: int = Field(1000, ge=1, description="Drafts that one project may have.")
    runner_poll_seconds: float = Field(
        1.0, gt=0, le=3600, description="How often an idle runner looks for jobs."
    )
    runner_threads: int | None = Field(
        None, ge=1, le=256, description="Jobs that one runner holds at a time; unset: two more than workers."
    )
    pool_workers: int | None = Field(
        None, ge=1, le=1024, description="Workers of the pool, one core each; unset: this machine's cores."
    )
    dask_scheduler: str | None = Field(
        None, description="tls:// address of a Dask scheduler; unset: a cluster of this machine."
    )
    dask_tls_ca_file: Path | None = Field(None, description="Certificates of who may sign the pool's.")
    dask_tls_cert_file: Path | None = Field(None, description="The runner's certificate in the pool.")
    dask_tls_key_file: Path | None = Field(None, description="Key of that certificate.")
    seal_public_key: str | None = Field(None, description="Base64 X25519 public key rows are sealed to.")
    seal_private_key: SecretStr | None = Field(
        None, description="Base64 X25519 private key; the runner only."
    )
    signing_key_file: Path | None = Field(
        None, description="Ed25519 key that signs the ledger's checkpoints; the API only."
    )
    ledger_origin: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        pattern=r"^[!-*,-~]+$",
        description="Name of the ledger's log when it begins; unset: one that no other log has.",
    )
    ledger_state_file: Path | None = Field(
        None, description="What the signer remembers of its last checkpoint; unset: in the data directory."
    )

    witness_tsa_url: str | None = Field(
        None, description="Time stamp authority (RFC 3161) that stamps checkpoints; unset: none is asked."
    )
    witness_tsa_ca_file: Path | None = Field(
        None, description="PEM file of its root; a stamp that does not lead there is not kept."
    )
    witness_ots_calendars: str | None = Field(
        None, description="OpenTimestamps calendars, separated by commas; unset: none is asked."
    )
    outgoing_allow: str | None = Field(
        None,
        description="Hosts, addresses and networks that may be called though they are not public, by commas.",
    )

    public_url: str | None = Field(
        None,
        max_length=500,
        pattern=r"^https?://[^\s?#@]+$",
        description="Where people reach the service; messages link to pages there. Unset: they link nowhere.",
    )
    oidc_issuer: str | None = Field(
        None,
        max_length=500,
        pattern=r"^https?://[^\s?#@]+$",
        description="OpenID Connect provider by which people sign in to the pages, as its tokens name it; unset: none.",
    )
    oidc_client_id: str | None = Field(
        None, min_length=1, max_length=500, description="What the provider calls this service."
    )
    oidc_client_secret_file: Path | None = Field(
        None, description="File of the secret that the provider gave for it; unset: a public client."
    )
    oidc_grants_file: Path | None = Field(
        None, description="TOML file: what each group of the provider may do in which project."
    )
    oidc_groups_claim: str = Field(
        "groups",
        min_length=1,
        max_length=200,
        description="Claim of the ID token, or else of userinfo, that holds the groups; or a path to it.",
    )
    oidc_scope: str = Field(
        "openid profile email",
        max_length=500,
        pattern=r"^openid( [!#-\[\]-~]+)*$",
        description="What is asked of the provider; some give groups for a scope of their own.",
    )
    artefacts: str = Field(
        "off",
        max_length=500,
        pattern=r"^(off|directory|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._-]+)*/?)$",
        description="Where files of imports are kept, sealed: off, directory, or s3://bucket/prefix.",
    )
    artefact_bytes: int = Field(
        256 * MIB, ge=1, description="Largest file of an import that is kept; larger ones are imported alone."
    )
    artefact_days: float | None = Field(
        None, gt=0, le=36_500, description="How long such a file is kept; unset: as long as its record."
    )
    project_artefact_bytes: int = Field(
        10 * 1024 * MIB, ge=1, description="Bytes of such files that are kept of one project."
    )
    otel_endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s]+$",
        description="Where traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; unset: nowhere.",
    )
    delivery_days: float = Field(
        3.0, gt=0, le=30, description="A webhook or a tracker that is away this long is given up."
    )

    @model_validator(mode="after")
    def _require_encrypted_pool(self) -> Self:
        """A plain scheduler runs anybody's code."""
        if self.dask_scheduler is None:
            return self
        if not self.dask_scheduler.startswith("tls://"):
            raise ValueError("FORELOCK_DASK_SCHEDULER must be a tls:// address: others run anybody's code")
        if None in (self.dask_tls_ca_file, self.dask_tls_cert_file, self.dask_tls_key_file):
            raise ValueError(
                "a Dask scheduler is reached by mutual TLS: set FORELOCK_DASK_TLS_CA_FILE, "
                "FORELOCK_DASK_TLS_CERT_FILE and FORELOCK_DASK_TLS_KEY_FILE"
            )
        return self

    @model_validator(mode="after")
    def _require_whole_sign_in(self) -> Self:
        """A provider without the rest signs in nobody."""
        if self.oidc_issuer is None:
            return self
        rest = ("oidc_client_id", "oidc_grants_file", "public_url")
        lacking = [f"FORELOCK_{name.upper()}" for name in rest if getattr(self, name) is None]
        if lacking:
            raise ValueError(f"FORELOCK_OIDC_ISSUER needs {' and '.join(lacking)} beside it")
        return self

    @property
    def calls_out(self) -> bool:
        """Whether anybody outside is to be called."""
        addresses = (
            self.witness_tsa_url,
            self.witness_tsa_ca_file,
            self.witness_ots_calendars,
            self.outgoing_allow,
        )
        return any(setting is not None for setting in addresses)

    @property
    def api_workers(self) -> int:
        """Processes that answer requests.

        A Python process uses one core, so reads of many clients wait for the posts of others while a second core is
        idle. SQLite has one writer at a time, and two processes would wait for each other's commits.
        """
        return self.workers or (2 if self.url.startswith("postgresql") and _cores() > 1 else 1)

    @property
    def workers_of_pool(self) -> int:
        """How many calls the pool computes side by side."""
        return self.pool_workers or _cores()

    @property
    def url(self) -> str:
        """The database this process talks to."""
        return self.database_url or f"sqlite:///{self.data_dir / 'forelock.db'}"

    @property
    def runner_url(self) -> str:
        """The database the runner talks to."""
        return self.runner_database_url or self.url

    @property
    def signing_key_path(self) -> Path:
        """The key that signs the ledger."""
        return self.signing_key_file or self.data_dir / "keys" / "signing.key"

    @property
    def ledger_state(self) -> Path:
        """The file in which the signer remembers what it signed last."""
        return self.ledger_state_file or self.data_dir / "ledger.state"

    @property
    def runner_socket(self) -> Path:
        """Where the API wakes the runner."""
        return self.data_dir / "runner.sock"


def read_settings(given: Mapping[str, object], warn: Callable[[str], object]) -> Settings:
    """Settings of the environment, overridden by what the command line gives.

    A variable that looks like a setting and is none is told to `warn`.

    Raises:
        UnusableSetting: naming the variable or the option.
    """
    try:
        settings = Settings(**given)  # type: ignore[arg-type]
    except ValidationError as invalid:
        fault = invalid.errors(include_url=False, include_input=False)[0]
        message = fault["msg"].removeprefix("Value error, ")
        if not fault["loc"]:
            raise UnusableSetting(message) from None
        name = str(fault["loc"][0])
        option = "--data" if name == "data_dir" else f"--{name}"
        name_shown = option if name in given else f"FORELOCK_{name.upper()}"
        raise UnusableSetting(f"{name_shown}: {message[:1].lower()}{message[1:]}") from None
    known = OTHERS | {f"FORELOCK_{name.upper()}" for name in Settings.model_fields}
    for name in sorted(name for name in os.environ if name.startswith("FORELOCK_") and name not in known):
        near = difflib.get_close_matches(name, sorted(known), n=1)
        warn(f"{name} is not a setting{f', {near[0]} is' if near else ''}: it is ignored")
    return settings
