/** A client of a random run that makes vaults and keys, signs messages with them, and archives them. docs/vaults.md. */
import { createHash } from 'node:crypto';
import { found } from '../../service/invariants/finding.ts';
import type { RuleAction } from './policies.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';

const vaultsMax = 3;

export class VaultClient extends RunClient {
  async step(step: FamilyStep<'vaults'>): Promise<void> {
    const { modules } = this.tenancy;
    if (modules === undefined) return;
    const { vaults } = modules;
    if (step === 'vault' || vaults.length === 0) {
      if (vaults.length >= vaultsMax) return;
      const needsHuman = this.draw.chance(0.3);
      const keystore = this.draw.pick(['mpc_frost', 'mock_threshold']);
      const body = {
        // A vault shows coordinates of its secp256k1 keys, which keys of the model of cryptography lack.
        ...{
          name: this.tenancy.key('vault'),
          keystore_type: keystore,
          curve: 'ed25519',
          threshold: 2,
          total_nodes: 3,
        },
        ...(needsHuman && { approval_mode: 'human_required' }),
      };
      const vault = await this.operator.made('/v1/vaults', body, this.tenancy.key('vault'));
      vaults.push({ id: vault.id, keyId: vault.primary_key_id, needsHuman });
      return;
    }
    const vault = this.draw.pick(vaults);
    if (step === 'vault_sign') return this.#sign(vault);
    if (step === 'vault_key') {
      const { status } = await this.operator.call('POST', `/v1/vaults/${vault.id}/keys`, {}, this.tenancy.key('key'));
      if (status !== 201 && status !== 409) found('changes-take-effect', `a key of ${vault.id}: ${status}`);
      return;
    }
    // The first one stays: it signs till the end.
    if (vault === vaults[0]) return;
    const [{ body }] = await Promise.all([
      this.#archive(vault.id),
      this.draw.chance(0.7) ? this.#sign(vault) : undefined,
    ]);
    if (body.status !== 'archived') found('changes-take-effect', `archive of ${vault.id} leaves ${body.status}`);
    const after = await this.operator.call('GET', `/v1/vaults/${vault.id}`);
    if (after.body.status !== 'archived')
      found('changes-take-effect', `${vault.id} is ${after.body.status} after its archive`);
  }

  /** Sometimes while a message is signed. */
  async #archive(id: string) {
    await this.operator.client.pause(this.draw.int(0, 30));
    return this.operator.call('POST', `/v1/vaults/${id}/archive`, {}, this.tenancy.key('vault-end'));
  }

  async #sign({
    id,
    keyId,
    needsHuman,
  }: {
    readonly id: string;
    readonly keyId: string;
    readonly needsHuman: boolean;
  }) {
    const message = Buffer.from(this.tenancy.key('message'));
    const hasWitness = this.draw.chance(0.5);
    const body = {
      ...{ key_id: keyId, message: message.toString('base64'), message_type: 'raw' },
      ...(hasWitness && { human_approval_witness: Buffer.from('seen').toString('base64') }),
    };
    const target = `/v1/vaults/${id}/sign`;
    const key = this.tenancy.key('vault-sign');
    const askedMs = this.operator.nowMs;
    const { status, body: made } = await this.operator.post(target, body, key);
    if (status === 409) return;
    if (status !== 200) found('changes-take-effect', `POST ${target}: ${status} ${JSON.stringify(made)}`);
    const wanted = this.#wanted(made.policy_receipt, askedMs, needsHuman, hasWitness);
    if (made.status !== wanted) found('decided-as-written', `${made.id} of ${id} is ${made.status}, not ${wanted}`);
    if ((made.signature !== null) !== (wanted === 'completed')) {
      found('decided-as-written', `${made.id} is ${made.status}, its signature ${made.signature}`);
    }
    await this.#report(made.policy_decision_id);
    const digest = createHash('sha256').update(message).digest('hex');
    if (made.message_sha256 !== digest || made.key_id !== keyId) {
      found('decided-as-written', `${made.id} is of another message or key than was asked for`);
    }
  }

  /** A message names no address: its report is clear. */
  async #report(decisionId: string): Promise<void> {
    if (!this.draw.chance(0.5)) return;
    const target = `/v1/compliance/reports/rep_${decisionId.slice('dec_'.length)}`;
    const { status, body } = await this.operator.call('GET', target);
    if (status !== 200 || body.decision !== 'clear' || !body.screening_id.startsWith('scr_')) {
      found('decided-as-written', `GET ${target}: ${status} ${body.decision} ${body.screening_id}`);
    }
  }

  /**
   * The decision about a message, whose amount and balance are 0, by the version that decided: limits of amounts never hold,
   * limits of balances always do. No history and no list says anything about it. Its score is the risk rules'.
   */
  #wanted(receipt: string, askedMs: number, needsHuman: boolean, hasWitness: boolean): string {
    const claims = JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString());
    const { policies } = this.tenancy;
    const { id, version } = claims.policy as { readonly id: string; readonly version: number };
    const made = policies.find((one) => one.id === id && one.version === version);
    if (made === undefined || made.name !== 'default') {
      return found('decided-as-written', `a message was decided by ${id} ${version}`);
    }
    const next = policies.find((one) => one.id === id && one.version > version && !one.content.isDryRun);
    if (next !== undefined && next.madeMs < askedMs) {
      found('decided-as-written', `a message was decided by version ${version}, after ${next.version} was there`);
    }
    const { denyBelow, asksMessages, askScore, quorum, approvers } = made.content;
    const actions = this.#ruleActions(claims.matched_rules);
    const isAsked = asksMessages || (askScore !== undefined && claims.risk_score >= askScore);
    // "More approvals, or named approvers: denied; votes are for transaction intents."
    const isImpossible = isAsked && (quorum > 1 || approvers.length > 0);
    if (denyBelow !== undefined || isImpossible || actions.includes('deny')) return 'denied';
    const wantsHuman = needsHuman || isAsked || actions.includes('review');
    return wantsHuman && !hasWitness ? 'pending_human_approval' : 'completed';
  }

  /** Of the risk rules that the decision names: each holds for a message. */
  #ruleActions(matched: readonly string[]): readonly (RuleAction | undefined)[] {
    const names = matched.flatMap((rule) => (rule.startsWith('risk:') ? rule.slice('risk:'.length) : []));
    const facts = { amount: '0', kind: 'message', listing: 'clear', intentsLastHour: 0 } as const;
    return names.map((name) => {
      const rule = this.tenancy.riskRules.get(name);
      const holds = rule?.holds({ ...facts, intentsToDestination: 0, available: 0n }) === true;
      return holds ? rule?.action : found('decided-as-written', `a message matched the risk rule ${name}`);
    });
  }
}
