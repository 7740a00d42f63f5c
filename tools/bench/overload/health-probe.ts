/**
 * Asks a gateway's health ten times a second, on a new connection each time, as a prober does. A separate process: a late load
 * generator would measure late health. On "stop", it sends the milliseconds of every answer to its parent and ends.
 */
import { request } from 'undici';

const everyMs = 100;
const [url = ''] = process.argv.slice(2);
const tookMs: number[] = [];
let stopped = false;
process.on('message', () => {
  stopped = true;
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
while (!stopped) {
  const beganMs = performance.now();
  const { body } = await request(url, { reset: true, headersTimeout: 60_000 });
  await body.dump();
  tookMs.push(performance.now() - beganMs);
  await new Promise((resolve) => setTimeout(resolve, everyMs));
}
process.send?.(tookMs, () => process.disconnect());
