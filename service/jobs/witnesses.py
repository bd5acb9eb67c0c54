"""The witnesses that the settings name. Without them nothing leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cryptography.x509 import Certificate

from forelock.witness.chain import read_certificates
from forelock.witness.stamp import WitnessFault
from service.config import Settings, UnusableSetting
from service.jobs.witnessing import Witness
from service.publish.addresses import UnusableEntry, read_allowed
from service.publish.faults import Forbidden
from service.publish.http import Outgoing, require_url
from service.publish.witness.authority import TimeStampAuthority
from service.publish.witness.calendars import Calendars


def make_witnesses(settings: Settings) -> list[Witness]:
    """Make the witnesses that are asked for stamps; none where the settings name none.

    Raises:
        UnusableSetting: with the name of the variable and what is wrong with it.
    """
    outgoing = make_outgoing(settings)
    witnesses: list[Witness] = []
    if settings.witness_tsa_url:
        (url,) = _require_urls("WITNESS_TSA_URL", [settings.witness_tsa_url])
        witnesses.append(TimeStampAuthority(url, outgoing, _read_roots(settings)))
    elif settings.witness_tsa_ca_file:
        raise UnusableSetting("FORELOCK_WITNESS_TSA_CA_FILE is of no use without FORELOCK_WITNESS_TSA_URL")
    if settings.witness_ots_calendars:
        addresses = [address for address in re.split(r"[,\s]+", settings.witness_ots_calendars) if address]
        witnesses.append(Calendars(_require_urls("WITNESS_OTS_CALENDARS", addresses), outgoing))
    return witnesses


def make_outgoing(settings: Settings) -> Outgoing:
    """Make the client for every call to the outside.

    Raises:
        UnusableSetting: an entry of the list of private targets cannot be read.
    """
    try:
        return Outgoing(read_allowed(settings.outgoing_allow or ""))
    except UnusableEntry as fault:
        raise UnusableSetting(f"FORELOCK_OUTGOING_ALLOW: {fault}") from None


def _require_urls(name: str, addresses: Iterable[str]) -> list[str]:
    try:
        return [require_url(address) for address in addresses]
    except Forbidden as fault:
        raise UnusableSetting(f"FORELOCK_{name}: {fault}") from None


def _read_roots(settings: Settings) -> list[Certificate]:
    """Read the certificates that signatures of the time stamp authority must lead to; none where no file is named."""
    path = settings.witness_tsa_ca_file
    if path is None:
        return []
    try:
        return read_certificates(path.read_bytes())
    except OSError as error:
        raise UnusableSetting(f"FORELOCK_WITNESS_TSA_CA_FILE: cannot read {path}: {error.strerror}") from None
    except WitnessFault as fault:
        raise UnusableSetting(f"FORELOCK_WITNESS_TSA_CA_FILE: {fault}") from None
