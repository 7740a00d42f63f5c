/**
 * Why this command has no redis-server, as set-up found (cli/signmesh.mjs): none is on this machine, or only one that is too old,
 * and none can be installed. undefined: it has one, or needs none.
 */
export function noRedis(): string | undefined {
  const { signmeshNoRedis } = globalThis as { signmeshNoRedis?: string };
  return signmeshNoRedis;
}

/** Why the tests have no Chromium, as set-up found. undefined: they have one, or need none. */
export function noChromium(): string | undefined {
  const { signmeshNoChromium } = globalThis as { signmeshNoChromium?: string };
  return signmeshNoChromium;
}
