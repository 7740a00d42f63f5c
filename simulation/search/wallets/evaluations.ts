/**
 * The records of decisions, read back at rest: the report and the score of an intent are of that intent, each policy lists the
 * decisions in which it took part, and a screening says what the lists in force say. docs/wallet-api.md.
 */

import type { Draw } from '../../cluster/draw.ts';
import { found } from '../../service/invariants/finding.ts';
import type { DecidedIntent } from './decisions.ts';
import type { Model } from './model.ts';
import { networks, type Tenancy } from './tenancy.ts';

/** Intents and subjects that a run reads. */
const intentsEach = 2;
const subjectsEach = 1;
const testAddresses = ['0x000000000000000000000000000000000000dEaD', '0x000000000000000000000000000000000000bEEF'];

export interface ReadIntent extends DecidedIntent {
  readonly network: string;
  readonly decision_id: string | null;
  readonly screening_id: string | null;
  readonly risk_score: number | null;
}

interface Decision {
  readonly id: string;
  readonly tx_id: string;
  readonly decision: string;
}

interface NamedPolicy {
  readonly id: string;
}

/** Throws a Finding. The screenings write events. */
export async function checkEvaluations(
  tenancy: Tenancy,
  model: Model,
  intents: readonly ReadIntent[],
  draw: Draw,
): Promise<void> {
  for (let count = 0; count < intentsEach && intents.length > 0; count += 1) {
    await checkIntent(tenancy, draw.pick(intents));
  }
  await checkListed(tenancy, intents, draw);
  const listed = tenancy.lists.flatMap(({ content }) => content.addresses);
  for (let count = 0; count < subjectsEach; count += 1) {
    await checkScreened(tenancy, model, draw.pick([...testAddresses, ...listed, tenancy.wallets[0]!.address]));
  }
}

async function checkIntent({ owner }: Tenancy, intent: ReadIntent): Promise<void> {
  const { id, screening_id: screening, decision_id: decision, risk_score: score, destination } = intent;
  // An order decides for its intent.
  if (screening === null || decision === null || intent.origin?.kind === 'token-order') return;
  const { body: report } = await owner.call('GET', `/v1/compliance/reports/rep_${id.slice('txi_'.length)}`);
  const shown = [
    report.screening_id,
    report.intent_id,
    report.wallet_id,
    report.asset,
    report.amount,
    report.direction,
  ];
  const wanted = [screening, id, intent.wallet_id, intent.asset, intent.amount, 'outgoing'];
  const isOf = String(report.subject?.address).toLowerCase() === destination.address.toLowerCase();
  if (shown.join() !== wanted.join() || !isOf || report.subject.network !== intent.network) {
    const subject = JSON.stringify(report.subject);
    found('decided-as-written', `the report of ${id} says ${shown} of ${subject}, not ${wanted}`);
  }
  const { status, body } = await owner.call('GET', `/v1/risk/scores/${id}`);
  if (status !== 200 || body.score !== score) {
    found('decided-as-written', `the score of ${id} is read as ${status} ${body.score}, it was ${score}`);
  }
}

/** One policy's decisions, a few a page. */
async function checkListed({ owner }: Tenancy, intents: readonly ReadIntent[], draw: Draw): Promise<void> {
  const decided = intents.flatMap(({ id, decision_id: decision, policy_receipt: receipt }) => {
    if (decision === null || receipt === null) return [];
    const claims = JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString());
    const policies = [claims.policy, ...(claims.also_policies ?? [])] as readonly NamedPolicy[];
    return policies.map((policy) => ({ id, decision, policy: policy.id, effect: claims.decision as string }));
  });
  if (decided.length === 0) return;
  const { policy } = draw.pick(decided);
  const target = `/v1/policies/${policy}/decisions`;
  const listed = await owner.list<Decision>(target, 'decisions', draw.int(2, 20));
  for (const { id, decision, effect } of decided.filter((one) => one.policy === policy)) {
    const own = listed.filter((one) => one.id === decision);
    if (own.length === 1 && own[0]!.tx_id === id && own[0]!.decision === effect) continue;
    const shown = own.map((one) => `${one.tx_id} ${one.decision}`);
    found('pages-complete', `${target} shows decision ${decision} of ${id} as [${shown}], it was ${effect}`);
  }
}

async function checkScreened(tenancy: Tenancy, model: Model, address: string): Promise<void> {
  const { owner } = tenancy;
  // Lists have addresses of EVM networks alone.
  if (!address.startsWith('0x')) return;
  const subject = { type: 'individual', address, network: networks.evm, name: tenancy.key('Someone Unlisted') };
  const screened = await owner.made('/v1/compliance/screen', { subject }, tenancy.key('screen'));
  const wanted = model.listing(address);
  if (screened.decision !== wanted) {
    found('decided-as-written', `a screening of ${address} says ${screened.decision}, not ${wanted}`);
  }
  const { body: report } = await owner.call('GET', `/v1/compliance/reports/${screened.report_id}`);
  const texts = [report.subject, subject].map((one) => JSON.stringify(Object.entries(one ?? {}).sort()));
  if (texts[0] !== texts[1] || report.decision !== wanted || report.screening_id !== screened.id) {
    found('decided-as-written', `the report of ${screened.id} says ${report.decision} of ${texts[0]}, not ${texts[1]}`);
  }
}
