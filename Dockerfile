# One image for every role: the role is the command ("coordinator", "node 3", "gateway", "init"). And one with everything in one
# process, with nothing beside it:
#   docker build --target embedded -t signmesh-embedded .
#   docker run --rm --init -p 127.0.0.1:8080:8080 -p 127.0.0.1:50051:50051 signmesh-embedded

FROM node:20.19.5-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN node tools/build.mjs dist && node tools/package.mjs package

FROM node:20.19.5-slim AS packages
WORKDIR /app
# Of the npm package: it asks for what the bundles do not hold.
COPY --from=build /app/package/package.json /app/package/package-lock.json /app/.npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:20.19.5-slim AS common
ENV NODE_ENV=production \
    SIGNMESH_DATA_DIR=/data
WORKDIR /app
# A volume takes its owner from the folder it is mounted on when it is new.
RUN mkdir -p /data/authority /data/coordinator /data/gateway /data/node-1 /data/node-2 /data/node-3 /data/node-4 /data/node-5 \
    && chown -R node:node /data
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/package/dist ./dist
COPY --from=build /app/package/proto ./proto
COPY --from=build /app/package/package.json /app/package/LICENSE ./
USER node
EXPOSE 8080 50051
# The gateway's, and that of all in one; the other roles name theirs in docker-compose.yml.
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s --retries=5 CMD ["node", "dist/cli/main.js", "health", "gateway"]
ENTRYPOINT ["node", "dist/cli/main.js"]

FROM common AS embedded
ENV SIGNMESH_HTTP_HOST=0.0.0.0 \
    SIGNMESH_GRPC_HOST=0.0.0.0
CMD ["up", "--embedded"]

FROM common
CMD ["gateway"]
