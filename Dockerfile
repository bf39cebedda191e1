# The spoor container: Node, the npm package, and its dependencies. No shell script, no npm, no compiler.
#
#   docker build -t spoor .
#   docker run --init --read-only --tmpfs /tmp --shm-size 256m -p 127.0.0.1:8787:8787 -v spoor:/data spoor
#
# With DATABASE_URL and KEY_DIGEST_SECRET set, the container stores nothing and needs no volume.
ARG NODE=24
ARG DEBIAN=bookworm
# Multi-platform digests of both images. If you change the version of Node or Debian, change or empty its digest.
ARG NODE_DIGEST=@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7
ARG DEBIAN_DIGEST=@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241

FROM node:${NODE}-${DEBIAN}-slim${NODE_DIGEST} AS build
WORKDIR /source
# Dependencies change less often than the sources, so they have their own layer. Nothing is built there yet.
COPY package.json package-lock.json ./
COPY test/clients/package.json test/clients/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm pack --ignore-scripts
WORKDIR /app
RUN tar -xzf /source/spoor-*.tgz --strip-components=1 && cp /source/package-lock.json .
# Install scripts run here, because the embedded PostgreSQL's script links its libraries, which is impossible later in a
# read-only container.
RUN npm ci --omit=dev --workspaces=false && rm package-lock.json

FROM debian:${DEBIAN}-slim${DEBIAN_DIGEST}
# The user id must not change, because it owns the files in volumes. PostgreSQL requires the user to have a name.
# DATA_DIR is a folder inside the volume, because the volume's root may belong to another user (Kubernetes fsGroup) or
# contain lost+found.
RUN groupadd --gid 10001 spoor \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin spoor \
    && install --directory --owner=10001 --group=10001 --mode=0750 /data \
    && ln -s /app/build/bin/spoor.js /usr/local/bin/spoor
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
ENV DATA_DIR=/data/spoor \
    HOST=0.0.0.0 \
    PORT=8787 \
    NODE_OPTIONS=--max-semi-space-size=32
USER 10001:10001
VOLUME /data
EXPOSE 8787
# Checks liveness, not readiness, because a restart does not help while an external database is unavailable.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["spoor"]
CMD ["serve"]
