/** The browser in which tests open pages. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Its path: CHROMIUM_PATH, or where systems install it; undefined: there is none that starts (`ensureChromium` of cli/signmesh.mjs). */
export function findChromium(): string | undefined {
  if (process.env.CHROMIUM_PATH === 'none') return undefined;
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder !== '');
  const candidates = [
    process.env.CHROMIUM_PATH,
    '/usr/bin/chromium',
    ...['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) => folders.map((folder) => join(folder, name))),
  ];
  return candidates.find((candidate) => {
    if (candidate === undefined || candidate === '') return false;
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
