/**
 * When the page is drawn: once for many changes, at most so often, and with a pause that grows with what a draw takes, so that a slow
 * machine draws more seldom and still answers its reader. Runs in the browser.
 */
import type { ConsoleBrowser } from './shared/dom.ts';

/** As often as the stream has messages. */
const drawEveryMs = 100;
/** A draw, with the paint that follows it, is at most a third of the time, */
const pauses = 2;
/** but no pause is longer than this. */
const pauseMsMax = 400;

export interface DrawPace {
  /** For what the stream and reads bring. */
  soon(): void;
  /** For what the reader did: drawn before the next event is handled, since handlers are those of the last draw. */
  atOnce(): void;
}

export function drawPace(
  page: Pick<ConsoleBrowser, 'setTimeout' | 'requestAnimationFrame' | 'performance'>,
  draw: () => void,
): DrawPace {
  let waiting = false;
  let isAsked = false;
  let nextMs = 0;
  const measured = () => {
    const beganMs = page.performance.now();
    nextMs = beganMs + drawEveryMs;
    draw();
    // A task of its own comes after style, layout and paint.
    page.setTimeout(() => {
      const endedMs = page.performance.now();
      nextMs = Math.max(nextMs, endedMs + Math.min(pauseMsMax, pauses * (endedMs - beganMs)));
    }, 0);
  };
  const frame = () => {
    waiting = false;
    measured();
  };
  return {
    soon: () => {
      if (waiting) return;
      waiting = true;
      page.setTimeout(() => page.requestAnimationFrame(frame), Math.max(0, nextMs - page.performance.now()));
    },
    atOnce: () => {
      if (isAsked) return;
      isAsked = true;
      // Never within a draw.
      void Promise.resolve().then(() => {
        isAsked = false;
        measured();
      });
    },
  };
}
