FROM python:3.11.14-slim-bookworm

RUN useradd --create-home --uid 1000 orbital
WORKDIR /app

COPY requirements/server.txt requirements/
RUN pip install --no-cache-dir -r requirements/server.txt
COPY . .
RUN pip install --no-cache-dir --no-deps .

USER 1000
# Caches go to /tmp: writable for any user, also where the root file system is read-only.
ENV HOME=/home/orbital \
    XDG_CACHE_HOME=/tmp/cache \
    NUMBA_CACHE_DIR=/tmp/cache/numba \
    PYTHONUNBUFFERED=1 \
    ENABLE_WEB_INTERFACE=true \
    MAX_CONCURRENT_ENVS=256 \
    CURRICULUM_DATABASE=/tmp/curriculum.sqlite
EXPOSE 8000
# Importing OpenEnv and compiling the onboard software take half a minute, on a shared core more.
HEALTHCHECK --interval=30s --timeout=5s --start-period=180s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
CMD ["server"]
