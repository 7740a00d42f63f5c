/**
 * Writes down what the injector sees, as reports have it (scenarios/faults/recording.ts): frames that pass, faults, processes. What
 * a frame says is put into words while that costs nothing; in a flood of them only what kind it is.
 */

import { decodeFrames, type WireEnvelope } from '../../proto/wire.ts';
import { processIn } from '../faults/cluster-names.ts';
import { frameText } from '../faults/frame-text.ts';
import type { RunEvent } from '../faults/recording.ts';
import type { FrameVerdict } from '../faults/vocabulary/engine-contract.ts';
import type { FaultKind } from '../faults/vocabulary/fault.ts';
import { frameWords } from './frame-description.ts';
import type { FrameHead } from './frame-scan.ts';
import { outcomeOf, scanOutcome } from './outcomes.ts';
import { nowMs } from './real-time.ts';
import { Recording } from './recording.ts';
import type { Outcome } from './session-book.ts';

type ProcessEvent = Extract<RunEvent, { kind: 'process' }>;

/** At about 15 µs each. */
const wordsPerSecondMax = 300;
const atOnce: readonly number[] = Object.freeze([0]);
const none: readonly string[] = Object.freeze([]);

export class FrameRecorder {
  readonly recording: Recording;
  /** When the recording's time began. */
  readonly beganMs: number;
  readonly #cluster: number;
  #wordsSecond = -1;
  #wordsLeft = 0;

  /** `cluster`: whose names it is given. All recorders of one recording have the same beginning. */
  constructor(recording = new Recording(), cluster = 1, beganMs: number = nowMs()) {
    this.recording = recording;
    this.#cluster = cluster;
    this.beganMs = beganMs;
  }

  /** A frame that passed as it was, in its message. */
  passed(head: FrameHead, message: Buffer): void {
    const outcome = head.point === 'call_reply' ? scanOutcome(message, head) : undefined;
    this.#frame(head, atOnce, none, this.#mayDecode() ? textOf(head, message) : frameWords[head.point], outcome);
  }

  evaluated(head: FrameHead, envelope: WireEnvelope, { arrivals, faults }: FrameVerdict): void {
    const afterMs = arrivals.map((arrival) => arrival.afterMs);
    this.#frame(head, afterMs, faults, frameText(envelope), outcomeOf(envelope));
  }

  process(process: string, what: ProcessEvent['what'], text: string): void {
    this.recording.add({ kind: 'process', atMs: this.#atMs(), process: this.#full(process), what, text });
  }

  fault(
    id: string,
    fault: FaultKind,
    targets: readonly string[],
    what: 'armed' | 'fired' | 'ended',
    text: string,
  ): void {
    const full = targets.map((target) => this.#full(target));
    this.recording.add({ kind: 'fault', atMs: this.#atMs(), id, fault, targets: full, what, text });
  }

  #frame(
    head: FrameHead,
    afterMs: readonly number[],
    faults: readonly string[],
    text: string,
    outcome: Outcome | undefined,
  ): void {
    const { from, to, point, tenant, session, attempt, begin, end } = head;
    const atMs = this.#atMs();
    const arrivesMs = afterMs.map((each) => atMs + each);
    const bytes = end - begin;
    this.recording.add(
      {
        kind: 'frame',
        atMs,
        arrivesMs,
        from: this.#full(from),
        to: this.#full(to),
        point,
        tenant,
        session,
        attempt,
        bytes,
        text,
        faults,
      },
      outcome,
    );
  }

  #full(name: string): string {
    return processIn(this.#cluster, name);
  }

  #mayDecode(): boolean {
    const secondNow = Math.floor(performance.now() / 1000);
    if (secondNow !== this.#wordsSecond) {
      this.#wordsSecond = secondNow;
      this.#wordsLeft = wordsPerSecondMax;
    }
    if (this.#wordsLeft === 0) return false;
    this.#wordsLeft -= 1;
    return true;
  }

  #atMs(): number {
    return Math.round((nowMs() - this.beganMs) * 1000) / 1000;
  }
}

function textOf({ begin, end, point }: FrameHead, message: Buffer): string {
  try {
    return frameText(decodeFrames(message.subarray(begin, end))[0]!);
  } catch {
    return frameWords[point];
  }
}
