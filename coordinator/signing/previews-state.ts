/**
 * What a sandbox wants to see of a signing session, apart from its round: previews of partials (previews.ts), and
 * inspections. Values are never changed in place. In production all of it is empty.
 */
import type { InspectCall, PreviewCall } from '../messages.ts';
import type { Answer } from '../session/answers.ts';
import type { Attempt } from './attempt.ts';

export interface Preview {
  readonly call: PreviewCall;
  /** Why there will be none; it is said in the next step without a write. */
  readonly failed: Answer | undefined;
  /** An attempt was abandoned for it. */
  readonly redrew: boolean;
}

export interface Looks {
  /** Callers who want to see a partial that is not submitted. */
  readonly previews: readonly Preview[];
  /** Nodes that were previewed, the latest first: they are drawn again, if they can be. */
  readonly previewed: readonly number[];
  /** Who waits for the key to be told what is known. */
  readonly inspections: readonly InspectCall[];
  /** What nodes were asked for previews alone, and answered, in one attempt. */
  readonly aside: Aside;
}

interface Aside {
  /** The attempt's number: with another attempt, all of this is over. */
  readonly attempt: number;
  /** Nodes asked for a preview alone, as long as they have not answered. */
  readonly asked: ReadonlySet<number>;
  /** Answers that do not count, as the nodes gave them: they do once a call wants them. */
  readonly answers: ReadonlyMap<number, Uint8Array>;
}

const nothingAside: Aside = { attempt: 0, asked: new Set(), answers: new Map() };

export const noLooks: Looks = { previews: [], previewed: [], inspections: [], aside: nothingAside };

export function waitsToSee({ previews }: Looks): boolean {
  return previews.length > 0;
}

export function withPreview(looks: Looks, call: PreviewCall): Looks {
  return { ...looks, previews: [...looks.previews, { call, failed: undefined, redrew: false }] };
}

/** What is aside in this attempt. */
function asideOf({ aside }: Looks, attempt: Attempt | undefined): Aside {
  return attempt && aside.attempt === attempt.number ? aside : nothingAside;
}

export function answersAside(looks: Looks, attempt: Attempt | undefined): ReadonlyMap<number, Uint8Array> {
  return asideOf(looks, attempt).answers;
}

/** Whether this node was asked for a preview alone and has not answered. */
export function isAskedAside(looks: Looks, attempt: Attempt, nodeId: number): boolean {
  return asideOf(looks, attempt).asked.has(nodeId);
}

export function askedAside(looks: Looks, attempt: Attempt, nodeIds: readonly number[]): Looks {
  if (nodeIds.length === 0) return looks;
  const { asked, answers } = asideOf(looks, attempt);
  return { ...looks, aside: { attempt: attempt.number, asked: new Set([...asked, ...nodeIds]), answers } };
}

/** `partial`: undefined if the node refused. */
export function answeredAside(looks: Looks, attempt: Attempt, nodeId: number, partial: Uint8Array | undefined): Looks {
  const before = asideOf(looks, attempt);
  const asked = new Set([...before.asked].filter((id) => id !== nodeId));
  const answers = partial ? new Map(before.answers).set(nodeId, partial) : before.answers;
  return { ...looks, aside: { attempt: attempt.number, asked, answers } };
}
