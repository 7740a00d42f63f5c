/**
 * Lets the time of a simulated world pass while a test awaits something of it, and at no other moment: what a test does
 * in between (its assertions, files that it reads) takes no virtual time. What it begins in one turn of the event loop
 * begins at one moment.
 */
// Node's own, also where a test has replaced the global ones.
import { clearTimeout, setTimeout } from 'node:timers';
import type { CustodyWorld } from '../world/custody-world.ts';
import { turnOfEventLoop } from '../world/event-loop-turn.ts';
import { ClusterStopped } from './stopped.ts';

/** Code of the test that the world waits for, in real time. */
interface Held {
  /** It asks the world for something itself, or takes too long: time passes meanwhile. */
  isReleased: boolean;
}

/** At most so much virtual time passes between two looks at what is awaited. */
const stepMs = 60_000;
/** Of real time: the world waits no longer for code of the test. */
const heldMsMax = 2_000;

export class VirtualDriver {
  readonly #world: CustodyWorld;
  /** What is awaited; each is called when the world cannot go on. */
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

  /** Of virtual time: when something was last begun that is awaited until it is there. */
  get activeMs(): number {
    return this.#activeMs;
  }

  /** What `work` gives; time passes until then. Rejects with ClusterStopped, and with what broke the world. */
  run<T>(work: Promise<T>): Promise<T> {
    this.#activeMs = this.#world.nowMs;
    for (const held of this.#held) held.isReleased = true;
    return this.#await(work, undefined);
  }

  /** The same, but after so much virtual time it waits for others to let time pass. */
  runBriefly<T>(work: Promise<T>, forMs: number): Promise<T> {
    return this.#await(work, forMs);
  }

  /** Time stands still until `work` has settled, in real time: code of the test that the world calls. */
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
      this.#world.loop.woken();
      release();
    });
  }

  /** Whatever is awaited rejects, and nothing more is run. Repeatable. */
  stop(): void {
    this.#isStopped = true;
    this.#fail(new ClusterStopped());
  }

  #await<T>(work: Promise<T>, forMs: number | undefined): Promise<T> {
    if (this.#isStopped) return Promise.reject(new ClusterStopped());
    const { cluster, loop } = this.#world;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        if (this.#awaited.delete(reject)) this.#settled += 1;
      };
      this.#awaited.add(reject);
      if (forMs !== undefined) cluster.time.after(forMs, over, true);
      work.then(resolve, reject).finally(over);
      loop.woken();
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
