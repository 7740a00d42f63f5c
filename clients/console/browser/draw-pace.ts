/**
 * When the page is drawn: once for many changes, at most so often, and with a pause that grows with what a draw takes, so that a slow
 * machine draws more seldom and still answers its reader. Runs in the browser.
 */
import type { ConsoleBrowser } from './dom.ts';

/** As often as the stream has messages. */
const drawEveryMs = 100;
/** A draw, with the paint that follows it, is at most a third of the time, */
const pauses = 2;
/** but no pause is longer than this. */
const pauseMsMax = 400;

/** Gives what asks for a draw. */
export function drawPace(
  page: Pick<ConsoleBrowser, 'setTimeout' | 'requestAnimationFrame' | 'performance'>,
  draw: () => void,
): () => void {
  let waiting = false;
  let nextMs = 0;
  const frame = () => {
    waiting = false;
    const beganMs = page.performance.now();
    nextMs = beganMs + drawEveryMs;
    draw();
    // A task of its own comes after style, layout and paint.
    page.setTimeout(() => {
      const endedMs = page.performance.now();
      nextMs = Math.max(nextMs, endedMs + Math.min(pauseMsMax, pauses * (endedMs - beganMs)));
    }, 0);
  };
  return () => {
    if (waiting) return;
    waiting = true;
    page.setTimeout(() => page.requestAnimationFrame(frame), Math.max(0, nextMs - page.performance.now()));
  };
}
