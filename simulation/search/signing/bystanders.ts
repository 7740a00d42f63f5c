/**
 * Clients that call the sessions and keys of other clients while those are busy: several calls wait in one session at once, in
 * some runs more than its limit, and a session ends, is resumed or is taken over while others wait in it.
 *
 * They do not insist, do not make a wallet's key, and never fix a dealer of a key whose client supplies one.
 */

import type { ScenarioStep, StepOf } from '../../../scenarios/runner/format.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';
import type { BusySession, KeyPlan } from './step-writer.ts';

type Call<K = ScenarioStep> = K extends { step: string } ? Omit<K, 'step'> : never;

/** By client: none in most runs. */
export function bystanders(
  swarm: Swarm,
  keys: readonly KeyPlan[],
  sessions: readonly BusySession[],
  draw: Draw,
): Readonly<Record<string, readonly ScenarioStep[]>> {
  const clients: Record<string, readonly ScenarioStep[]> = {};
  if (!draw.chance(0.35) || sessions.length === 0) return clients;
  for (let count = draw.int(1, 3), index = 1; index <= count; index += 1) {
    const name = `b${index}`;
    const steps: ScenarioStep[] = [];
    const add = (call: Call) => void steps.push({ step: `${name}-${steps.length + 1}`, ...call } as ScenarioStep);
    // Most call one session.
    const busy = draw.pick(sessions);
    for (let left = draw.int(2, 6); left > 0; left -= 1) {
      add({ wait: { ms: draw.pick([1, 3, 10, Math.ceil(swarm.phaseMs / 5)]) } });
      add(
        draw.chance(0.2)
          ? aboutKey(draw.pick(keys), draw)
          : aboutSession(draw.chance(0.7) ? busy : draw.pick(sessions), draw),
      );
    }
    clients[name] = steps;
  }
  return clients;
}

/**
 * A gateway closes the key of a wallet that exists, so only once it is made. Here others may close it while it is being made: its nodes
 * then forget it, and it is never made. So its client does not insist on it.
 */
export function closedByOthers(clients: Readonly<Record<string, readonly ScenarioStep[]>>): typeof clients {
  const closing = Object.entries(clients).flatMap(([client, steps]) =>
    steps.flatMap((step) => (closes(step) ? [{ client, key: step.session }] : [])),
  );
  const entries = Object.entries(clients).map(([client, steps]) => {
    const mayNotBe = new Set(closing.filter((one) => one.client !== client).map(({ key }) => key));
    const made = steps.map((step) =>
      'call' in step && step.call === 'make_key' && step.insist && mayNotBe.has(step.session)
        ? { ...step, insist: false }
        : step,
    );
    return [client, made] as const;
  });
  return Object.fromEntries(entries);
}

function closes(step: ScenarioStep): step is StepOf<'close_key'> {
  return 'call' in step && step.call === 'close_key' && step.clients_only !== true;
}

/** Calls of many clients about one session or key at one moment: more than a small mailbox takes. */
export function crowd(
  mailbox: number,
  swarm: Swarm,
  keys: readonly KeyPlan[],
  sessions: readonly BusySession[],
  draw: Draw,
): Readonly<Record<string, readonly ScenarioStep[]>> {
  const clients: Record<string, readonly ScenarioStep[]> = {};
  const busy = sessions.length > 0 && draw.chance(0.6) ? draw.pick(sessions) : undefined;
  const key = draw.pick(keys);
  const ms = draw.int(1, swarm.phaseMs);
  for (let index = 1; index <= mailbox + 6; index += 1) {
    const name = `m${index}`;
    const call = busy === undefined ? aboutKey(key, draw) : aboutSession(busy, draw);
    clients[name] = [
      { step: `${name}-1`, wait: { ms } } as ScenarioStep,
      { step: `${name}-2`, ...call } as ScenarioStep,
    ];
  }
  return clients;
}

/** The time from an answer to a call that the client makes at once, and its way there. */
const nearMs = 9;

/**
 * Calls about sessions and keys of their own around the very end of their lifetimes, where those are short: without a write, with
 * one, and with a round that the end interrupts.
 */
export function lateCalls(
  { nodes }: Swarm,
  { signingMs, keyMs }: { readonly signingMs: number | undefined; readonly keyMs: number | undefined },
  draw: Draw,
): Readonly<Record<string, readonly ScenarioStep[]>> {
  if (signingMs === undefined) return {};
  const clients: Record<string, readonly ScenarioStep[]> = {};
  const client = (name: string, calls: readonly Call[]) => {
    clients[name] = calls.map((call, index) => ({ step: `${name}-${index + 1}`, ...call }) as ScenarioStep);
  };
  const key = 'late-key';
  const sharing = { threshold: 2, total_nodes: nodes, curve: 'secp256k1' } as const;
  const calls: Call[] = [{ call: 'make_key', session: key, ...sharing }];
  for (let index = 1; index <= (signingMs < 1_000 ? 3 : 1); index += 1) {
    const session = `late-sig-${index}`;
    const asks: Call = { call: 'resume_session', session, token: 'wrong' };
    const signs: Call = { call: 'submit_signature_share', session };
    calls.push({ call: 'initiate_signing', session, key }, { wait: { ms: signingMs - draw.int(2, nearMs) } });
    calls.push(...(draw.chance(0.4) ? [signs] : [asks, asks, asks, asks]), signs, asks);
  }
  client('late', calls);
  if (keyMs === undefined) return clients;
  for (const session of ['late-made-1', 'late-made-2']) {
    client(session, [
      { call: 'initiate_dkg', session, ...sharing },
      { wait: { ms: keyMs - draw.int(2, 2 * nearMs) } },
      { call: 'exchange_dkg_shares', session, ...(draw.chance(0.3) && { sender: 1, recipient: 2 }) },
      { call: 'exchange_dkg_shares', session },
    ]);
  }
  return clients;
}

/** A wallet's key with one session after another, and an end of all of them, or of clients' alone, in the midst of their rounds. */
export function revocations({ nodes }: Swarm, draw: Draw): Readonly<Record<string, readonly ScenarioStep[]>> {
  if (!draw.chance(0.3)) return {};
  const key = 'wal_busy';
  const busy: ScenarioStep[] = [];
  const ending: ScenarioStep[] = [];
  const add = (steps: ScenarioStep[], client: string, call: Call) =>
    void steps.push({ step: `${client}-${steps.length + 1}`, ...call } as ScenarioStep);
  const sharing = { threshold: 2, total_nodes: nodes, curve: 'secp256k1' } as const;
  add(busy, 'busy', { call: 'make_key', session: key, ...sharing, wallet_service: true });
  for (let index = 1; index <= 8; index += 1) {
    const session = `busy-sig-${index}`;
    add(busy, 'busy', { call: 'initiate_signing', session, key });
    add(busy, 'busy', {
      call: 'submit_signature_share',
      session,
      ...(draw.chance(0.3) && { node: draw.int(1, nodes) }),
    });
  }
  for (let left = draw.int(1, 3); left > 0; left -= 1) {
    add(ending, 'ending', { wait: { ms: draw.int(8, 40) } });
    add(ending, 'ending', {
      call: 'close_key',
      session: key,
      ...((left > 1 || draw.chance(0.5)) && { clients_only: true }),
    });
  }
  return { busy, ending };
}

function aboutSession({ session, key }: BusySession, draw: Draw): Call {
  const node = draw.int(1, key.totalNodes);
  switch (draw.pick(['step', 'step', 'whole', 'whole', 'resume', 'inspect', 'preview', 'close'] as const)) {
    case 'step':
      return { call: 'submit_signature_share', session, node };
    case 'whole':
      return { call: 'submit_signature_share', session };
    case 'resume':
      return { call: 'resume_session', session, token: draw.pick(['latest', 'first']), witness: draw.chance(0.7) };
    case 'inspect':
      return { call: 'inspect_session', session };
    case 'preview':
      return { call: 'preview_partial', session, node };
    case 'close':
      if (!key.wallet) return { call: 'inspect_session', session: key.session };
      return { call: 'close_key', session: key.session, ...(!key.closes && { clients_only: true }) };
  }
}

function aboutKey({ session, totalNodes, supplied, wallet }: KeyPlan, draw: Draw): Call {
  if (supplied.length > 0 || wallet || draw.chance(0.3)) return { call: 'inspect_session', session };
  if (draw.chance(0.3)) return { call: 'resume_session', session, token: 'latest' };
  const [sender, recipient] = [draw.int(0, totalNodes), draw.int(0, totalNodes)];
  return { call: 'exchange_dkg_shares', session, sender, recipient };
}
