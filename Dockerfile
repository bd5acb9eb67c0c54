# One image for the API, the runner and the one-shot commands: `docker build -t forelock .`
# Any base with glibc and Python 3.11 to 3.13 serves; tests/image builds on plain Debian.
ARG BASE_IMAGE=python:3.13-slim-bookworm

FROM ${BASE_IMAGE} AS build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_PYTHON_DOWNLOADS=never
WORKDIR /opt/forelock
# Extras of the service by name, such as "oidc otel".
ARG EXTRAS=""
# What others wrote first: this layer changes only when the lock file does.
COPY do uv.lock pyproject.toml ./
COPY client/pyproject.toml client/
RUN for extra in $EXTRAS; do set -- "$@" --extra "$extra"; done \
    && ./do uv sync --frozen --no-dev --no-install-workspace "$@"
COPY README.md ./
COPY client client
COPY migrations migrations
COPY service service
RUN for extra in $EXTRAS; do set -- "$@" --extra "$extra"; done \
    && ./do uv sync --frozen --no-dev --no-editable "$@"

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Forelock" \
      org.opencontainers.image.description="Preregistered evaluation statistics over HTTP: lock the plan, then look." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 forelock \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin forelock \
    && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build /opt/forelock/.venv /opt/forelock/.venv
ENV PATH=/opt/forelock/.venv/bin:$PATH \
    FORELOCK_DATA_DIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8321
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8321/health/live', timeout=4)"]
ENTRYPOINT ["forelock"]
CMD ["serve", "--host", "0.0.0.0", "--data", "/data"]
