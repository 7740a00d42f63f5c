/**
 * Streams of events: a client follows them for a while, from a place of its choice. It gets every event after that place, in
 * order, once each, as the log has them, also of a gateway that dies in the middle.
 */

import type { Draw } from '../../cluster/draw.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import type { Operator } from './operator.ts';
import type { FollowedStream, Tenancy } from './tenancy.ts';

/** Without faults an event reaches its followers within this time. */
const arrivesWithinMs = 1_500;

export async function followEvents(tenancy: Tenancy, operator: Operator, draw: Draw): Promise<void> {
  const { world, sequence, isCalm } = tenancy;
  const after = draw.chance(0.5) ? sequence : draw.int(0, sequence);
  const gateways = world.processes.filter((name) => name.startsWith('gateway'));
  // The header takes precedence.
  const isResumed = draw.chance(0.4);
  const asked = isResumed ? draw.int(0, sequence) : after;
  const plain = operator.client.plain('GET', `/v1/events/stream?after_sequence=${asked}`);
  const headers = { ...plain.headers, ...(isResumed && { 'last-event-id': `${after}` }) };
  const exchange = world.connect(draw.pick(gateways), { ...plain, headers });
  let text = '';
  let isOver = false;
  const reading = exchange.answer.then(async (answer) => {
    const { pieces, status } = answer ?? {};
    if (answer !== undefined && status !== 200 && status !== 429 && isCalm)
      found('pages-complete', `a stream after ${after}: ${status}`);
    for (let piece = await pieces?.next(); piece !== undefined; piece = await pieces?.next()) text += piece;
  });
  const ended = reading.then(
    () => {
      isOver = true;
    },
    (error: unknown) => {
      isOver = true;
      if (error instanceof Error && error.message === 'the connection was lost') return;
      throw error;
    },
  );
  const listening = operator.client.pause(draw.int(500, 6_000));
  await Promise.race([listening, ended]);
  const due = tenancy.sequence;
  if (!isOver) await Promise.race([operator.client.pause(arrivesWithinMs), ended]);
  const messages = messagesOf(text);
  const isWhole = isCalm && !isOver;
  exchange.leave();
  tenancy.streams.push({ after, messages, due: isWhole ? due : 0 });
}

/** Whole blocks with data. */
function messagesOf(text: string): FollowedStream['messages'] {
  const blocks = text.split('\n\n').slice(0, -1);
  return blocks.flatMap((block) => {
    const lines = block.split('\n');
    const of = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const data = of('data');
    return data === undefined ? [] : [{ id: Number(of('id')), data }];
  });
}

/** Throws a Finding. */
export function checkStreams(streams: readonly FollowedStream[], events: readonly ToldEvent[]): void {
  for (const { after, messages, due } of streams) {
    for (const [at, { id, data }] of messages.entries()) {
      const event = events[after + at];
      if (event?.sequence !== id || JSON.stringify(event) !== data) {
        found('pages-complete', `a stream after ${after} tells event ${id} in place of ${event?.sequence}: ${data}`);
      }
    }
    if (after + messages.length < due) {
      found('pages-complete', `a stream after ${after} told ${messages.length} events while the log grew to ${due}`);
    }
  }
}
