/**
 * Random scenarios: a cluster, clients and faults from a seed; then everything heals, and the steps that insist must complete.
 * Such a run expects no particular answers, only that invariants hold and that nothing is stuck.
 *
 * It is an ordinary scenario: a failing run is saved as a file and runs again from it.
 */

import type { CheckedScenario, ClusterConstant, ScenarioStep } from '../../../scenarios/runner/format.ts';
import { Draw } from '../../cluster/draw.ts';
import { randomStream } from '../../cluster/random.ts';
import { drawSwarm, type Profile, type Swarm } from '../profiles.ts';
import { bystanders, closedByOthers, crowd, lateCalls, revocations } from './bystanders.ts';
import { stepsMs } from './drill-plan.ts';
import { drilled } from './drills.ts';
import { drawKeys, keyTerms } from './keys.ts';
import {
  randomFaults,
  reboots,
  refusedWrites,
  secondCoordinators,
  tokenFaults,
  unsignedResults,
  vendorFaults,
} from './random-faults.ts';
import { ClientPlan } from './random-steps.ts';
import { redisRolledBack } from './redis-rollback.ts';
import { refreshes } from './refreshes.ts';
import type { BusySession, KeyPlan } from './step-writer.ts';
import type { SharedIntent } from './stories.ts';

const drawOf = (seed: string, label: string) => new Draw(randomStream(seed, label));

/** Faults begin before the end of their phase, and all end by its end. */
const breathMs = 50;

/**
 * The same seed and profile give the same scenario. `variation`, from 1: the same cluster, keys and steps, with other faults,
 * constants, bystanders and times.
 */
export function randomScenario(seed: number, profile: Profile, variation = 0): CheckedScenario {
  const base = `random-${profile}-${seed}`;
  const name = variation === 0 ? base : `${base}-${variation}`;
  const drawn = drawSwarm(profile, drawOf(base, 'swarm'));
  const drill = drilled(drawn, drawOf(base, 'drill'));
  // Beside a drill little else happens, or such runs would take twice the time of others.
  const swarm = drill === undefined ? drawn : { ...drawn, clients: 1 };
  const draw = drawOf(base, 'steps');
  const types = drawOf(base, 'key types');
  const keys = drawKeys(swarm, draw, types).slice(0, drill === undefined ? undefined : 1);
  const clients: Record<string, readonly ScenarioStep[]> = {};
  const intents: SharedIntent[] = [];
  const sessions: BusySession[] = [];
  const constants = drawConstants(swarm, drawOf(name, 'constants'));
  const healedMs = swarm.phaseMs + breathMs;
  for (let index = 1; index <= swarm.clients; index += 1) {
    const plan = new ClientPlan(`c${index}`, swarm, draw, constants.signing_lifetime_ms);
    keys.forEach((key, at) => {
      if (at % swarm.clients === index - 1) plan.makeKey(key);
    });
    for (let left = drill === undefined ? draw.int(1, 3) : 1; left > 0; left -= 1) {
      // Its own keys exist already; those of others perhaps.
      const own = keys.filter((_, at) => at % swarm.clients === index - 1);
      const key = own.length > 0 && draw.chance(0.8) ? draw.pick(own) : draw.pick(keys);
      plan.tell(draw.pick(swarm.stories), key, intents);
    }
    plan.finish(healedMs);
    clients[plan.name] = plan.steps;
    sessions.push(...plan.sessions);
  }
  if (drill === undefined) Object.assign(clients, aftermath(swarm, keys, healedMs, drawOf(name, 'aftermath')));
  Object.assign(clients, bystanders(swarm, keys, sessions, drawOf(name, 'bystanders')));
  const rare = rareConstants(swarm, drawOf(name, 'rare constants'));
  const { mailbox } = rare;
  if (mailbox !== undefined) Object.assign(clients, crowd(mailbox, swarm, keys, sessions, drawOf(name, 'crowd')));
  const lifetimes = { signingMs: constants.signing_lifetime_ms, keyMs: constants.key_lifetime_ms };
  if (drill === undefined) {
    Object.assign(clients, lateCalls(swarm, lifetimes, drawOf(name, 'late calls')));
    Object.assign(clients, revocations(swarm, drawOf(name, 'revocations')));
  } else Object.assign(clients, drill.clients);
  Object.assign(clients, refreshes(swarm, healedMs, drawOf(name, 'refreshes')));
  Object.assign(clients, closedByOthers(clients));
  clients.healer = healing(swarm, keys, healedMs, drill?.last ?? []);
  const holds = (type: KeyPlan['ownType']) => keys.some(({ ownType }) => ownType === type);
  const faults = [
    ...randomFaults(swarm, drawOf(name, 'faults')),
    ...(rare.link_news_ms === undefined ? [] : reboots(swarm, drawOf(name, 'reboots'))),
    ...refusedWrites(swarm, drawOf(name, 'refused writes')),
    ...secondCoordinators(swarm, drawOf(name, 'second coordinators')),
    ...unsignedResults(swarm, drawOf(name, 'unsigned results')),
    ...(holds('HSM_PKCS11') ? tokenFaults(swarm, types) : []),
    ...(holds('MPC_VENDOR') ? vendorFaults(swarm, types) : []),
  ];
  return {
    scenario: name,
    about: aboutText(seed, swarm),
    worlds: ['simulated'],
    cluster: {
      nodes: swarm.nodes,
      seed: name,
      partial_timeout_ms: draw.pick([60, 300]),
      nodes_wait_ms: draw.pick([500, 2_000]),
      // Where a client supplies a dealer, nodes must accept it.
      client_dealers:
        keys.some(({ supplied }) => supplied.length > 0) || drill?.suppliesDealers === true || draw.chance(0.5),
      ...constants,
      ...rare,
      ...drill?.constants,
    },
    faults,
    clients: redisRolledBack(clients, swarm, drawOf(name, 'redis rolled back')) ?? clients,
    expect: [],
  };
}

/** Constants of the product, drawn for each run: most bugs of time and of limits need small ones. */
function drawConstants({ shortLived }: Swarm, draw: Draw): Partial<Record<ClusterConstant, number>> {
  const lifetime = () => draw.pick([300, 600, 1_500, 4_000]);
  return {
    ...(shortLived && { signing_lifetime_ms: lifetime(), pending_lifetime_ms: lifetime() }),
    ...(shortLived && draw.chance(0.5) && { key_lifetime_ms: lifetime() }),
    ...(draw.chance(0.4) && { idle_ms: draw.pick([5, 50, 400]) }),
    ...(draw.chance(0.3) && { sweep_ms: draw.pick([50, 250]) }),
    ...(draw.chance(0.15) && { calls_waiting: draw.pick([1, 2, 4]) }),
    ...(draw.chance(0.5) && { nonce_batch: draw.pick([1, 1, 2, 8]) }),
  };
}

/** Liveness is strict once the work of the bad time has ended. */
const settledMs = 12_000;

/** In some runs: stories in the calm after all faults, where every call must get its answer at once. */
function aftermath(
  swarm: Swarm,
  keys: readonly KeyPlan[],
  healedMs: number,
  draw: Draw,
): Readonly<Record<string, readonly ScenarioStep[]>> {
  const left = keys.filter(({ closes, supplied }) => !closes && supplied.length === 0);
  if (!draw.chance(0.35) || left.length === 0 || swarm.losesState) return {};
  const plan = new ClientPlan('after', { ...swarm, phaseMs: 200, clocksJump: false }, draw, undefined);
  plan.wait(healedMs);
  plan.wait(settledMs);
  for (let stories = draw.int(1, 2); stories > 0; stories -= 1)
    plan.tell(draw.pick(swarm.stories), draw.pick(left), []);
  return { after: plan.steps };
}

/** Few runs have them; a stream of their own leaves the other draws as they are. */
function rareConstants({ profile, nodes }: Swarm, draw: Draw): Partial<Record<ClusterConstant, number>> {
  return {
    // The answers of all nodes to one request fit in it.
    ...(draw.chance(0.06) && { mailbox: nodes + draw.int(0, 2) }),
    ...(profile !== 'malformed' && draw.chance(0.12) && { link_news_ms: draw.pick([80, 200, 600]) }),
  };
}

/** Heals, completes every key, and signs with each: this must work when every process is healthy. */
function healing(swarm: Swarm, keys: readonly KeyPlan[], healedMs: number, last: readonly string[]): ScenarioStep[] {
  // A session may expire where clocks jump; a node that lost its store may have failed a key generation.
  const mayBeGone = swarm.clocksJump || swarm.losesState || swarm.shortLived;
  const signed = ['SIGNATURE_COMPLETED', ...(mayBeGone ? ['WALLET_KEY_NOT_FOUND', 'SESSION_EXPIRED'] : [])];
  // A client may set the clocks forward while the last key is made.
  const made = ['DKG_COMPLETED', ...(swarm.clocksJump || swarm.shortLived ? ['SESSION_EXPIRED'] : [])];
  const fresh = { session: 'key-fresh', threshold: 2, total_nodes: swarm.nodes, curve: 'secp256k1' } as const;
  const steps: ScenarioStep[] = [
    { step: 'the-bad-time', wait: { ms: healedMs - breathMs } },
    ...last.map((ended, index) => ({ step: `drilled-${index + 1}`, wait: { ended, within_ms: stepsMs } })),
    { step: 'heal', heal: true },
    { step: 'all-are-back', wait: { nodes_ready: swarm.nodes } },
  ];
  for (const key of keys) {
    const { session, supplied } = key;
    // A client that supplies a dealer must give all its shares; otherwise no key is made.
    if (supplied.length > 0) continue;
    if (key.closes) continue;
    const terms = keyTerms(key);
    const expect = mayBeGone ? {} : { expect: { reason_code: 'DKG_COMPLETED' } };
    const byWallet = key.wallet ? ({ wallet_service: true } as const) : {};
    // The lost shares of a node may fail a key generation shortly before its end.
    const insist = !swarm.losesState;
    steps.push({ step: `${session}-stands`, call: 'make_key', ...terms, ...byWallet, insist, ...expect });
    steps.push({
      step: `${session}-signs`,
      call: 'sign',
      session: `${session}-final`,
      key: session,
      ...byWallet,
      insist: true,
      expect: { reason_code: signed },
    });
  }
  steps.push(
    { step: 'fresh-key', call: 'make_key', ...fresh, insist: true, expect: { reason_code: made } },
    {
      step: 'fresh-signature',
      call: 'sign',
      session: 'sig-fresh',
      key: 'key-fresh',
      insist: true,
      expect: { reason_code: signed },
    },
  );
  return steps;
}

function aboutText(seed: number, swarm: Swarm): string {
  const { profile, nodes, liars, clients, kinds, lies, liedTo, coordinatorLies } = swarm;
  const byzantine = liars.length === 0 ? 'all honest' : `of which ${liars.join(' and ')} may lie (${lies.join(', ')})`;
  const malicious =
    coordinatorLies.length === 0
      ? ''
      : `; a coordinator that lies to ${liedTo.join(' and ')} (${coordinatorLies.join(', ')})`;
  return `Random run, seed ${seed}, profile ${profile}: ${nodes} nodes, ${byzantine}${malicious}; ${clients} clients; faults drawn from ${kinds.join(', ')}. At the end everything is healed, and what clients insist on comes to an end.`;
}
