/**
 * Lets the time of a simulated world pass only while a test awaits a result of it: the test's own work (assertions, reading
 * files) takes no virtual time. Calls that a test makes in one turn of the event loop begin at one moment.
 */
// Node's own timers, even where a test has replaced the global ones.
import { clearTimeout, setTimeout } from 'node:timers';
import type { CustodyWorld } from '../../simulation/service/custody-world.ts';
import { turnOfEventLoop } from '../../simulation/service/run-loop.ts';
import { ClusterStopped } from './stopped.ts';

/** Code of the test that the world waits for, in real time. */
interface Held {
  /** It asks the world for something itself, or takes too long: time passes meanwhile. */
  isReleased: boolean;
}

/** The most virtual time between two checks of the awaited results. */
const stepMs = 60_000;
/** In real time: the longest that the world waits for code of the test. */
const heldMsMax = 2_000;

export class VirtualDriver {
  readonly #world: CustodyWorld;
  /** Of each awaited result, its rejection; called when the world cannot continue. */
  readonly #awaited = new Set<(error: unknown) => void>();
  readonly #held = new Set<Held>();
  #wake = (): void => undefined;
  #settled = 0;
  #isDriving = false;
  #isStopped = false;
  #activeMs = 0;

  constructor(world: CustodyWorld) {
    this.#world = world;
  }

  /** Virtual time at which the last awaited work began. */
  get activeMs(): number {
    return this.#activeMs;
  }

  /** The result of `work`; time passes until then. Rejects with ClusterStopped, and with the error that broke the world. */
  run<T>(work: Promise<T>): Promise<T> {
    this.#activeMs = this.#world.nowMs;
    for (const held of this.#held) held.isReleased = true;
    return this.#await(work, undefined);
  }

  /** The same, but after `forMs` of virtual time it waits for others to let time pass. */
  runBriefly<T>(work: Promise<T>, forMs: number): Promise<T> {
    return this.#await(work, forMs);
  }

  /** Stops virtual time until `work` has settled, in real time: code of the test that the world calls. */
  hold<T>(work: Promise<T>): Promise<T> {
    const held: Held = { isReleased: false };
    this.#held.add(held);
    const release = () => {
      held.isReleased = true;
      this.#wake();
    };
    const timer = setTimeout(release, heldMsMax);
    return work.finally(() => {
      clearTimeout(timer);
      this.#held.delete(held);
      this.#world.time.woken();
      release();
    });
  }

  /** Rejects everything awaited, and runs nothing more. Repeatable. */
  stop(): void {
    this.#isStopped = true;
    this.#fail(new ClusterStopped());
  }

  #await<T>(work: Promise<T>, forMs: number | undefined): Promise<T> {
    if (this.#isStopped) {
      // It fails for the same reason, and its caller hears that here.
      work.catch(() => undefined);
      return Promise.reject(new ClusterStopped());
    }
    const { time } = this.#world;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        if (this.#awaited.delete(reject)) this.#settled += 1;
      };
      this.#awaited.add(reject);
      if (forMs !== undefined) time.after(forMs, over, true);
      work.then(resolve, reject).finally(over);
      time.woken();
      this.#wake();
      void this.#drive();
    });
  }

  async #drive(): Promise<void> {
    if (this.#isDriving) return;
    this.#isDriving = true;
    try {
      for (;;) {
        await turnOfEventLoop();
        if (this.#isStopped || this.#awaited.size === 0) return;
        if (this.#isHeld) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          continue;
        }
        const before = this.#settled;
        await this.#world.loop.until(() => this.#settled > before || this.#isHeld || this.#isStopped, stepMs);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isDriving = false;
    }
  }

  get #isHeld(): boolean {
    for (const { isReleased } of this.#held) if (!isReleased) return true;
    return false;
  }

  #fail(error: unknown): void {
    const rejects = [...this.#awaited];
    this.#awaited.clear();
    for (const reject of rejects) reject(error);
    this.#wake();
  }
}
