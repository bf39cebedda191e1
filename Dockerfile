# The container of spoor: Node, the package as npm gets it, and what it depends on. No shell script, no npm, no compiler.
#
#   docker build -t spoor .
#   docker run --init --read-only --tmpfs /tmp --shm-size 256m -p 127.0.0.1:8787:8787 -v spoor:/data spoor
#
# With DATABASE_URL and KEY_DIGEST_SECRET nothing is kept here, and no volume is needed.
ARG NODE=24
ARG DEBIAN=bookworm
# The images of both, for all platforms. Another version of Node or Debian needs other digests, or empty ones.
ARG NODE_DIGEST=@sha256:235600a8101ab264e117b1768e925532262668dc9b581ef1dd7d96ced463b8e7
ARG DEBIAN_DIGEST=@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241

FROM node:${NODE}-${DEBIAN}-slim${NODE_DIGEST} AS build
WORKDIR /source
# What is installed changes less often than the sources, so it is a layer of its own. Nothing is built there yet.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm pack --ignore-scripts
WORKDIR /app
RUN tar -xzf /source/spoor-*.tgz --strip-components=1 && cp /source/package-lock.json .
# With the scripts of packages: the embedded PostgreSQL makes links to its libraries, for which a read-only container has
# no room later.
RUN npm ci --omit=dev && rm package-lock.json

FROM debian:${DEBIAN}-slim${DEBIAN_DIGEST}
# A number that stays the same, since files of volumes belong to it; with a name, because PostgreSQL asks for one. Not
# DATA_DIR itself is the volume, but a folder in it, since the root of a volume may be somebody else's (fsGroup of
# Kubernetes, lost+found).
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
# Whether it lives, and not whether it is ready: nothing is better for a restart while a database of its own is away.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["spoor"]
CMD ["serve"]
