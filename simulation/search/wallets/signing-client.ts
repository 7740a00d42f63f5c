/**
 * A client of a random run at the signing API: its own keys, signatures with them and with the keys of wallets, sessions that
 * wait for a human, and the list of sessions. docs/signing-api.md.
 */
import { createHash } from 'node:crypto';
import { found } from '../../service/invariants/finding.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import { networks } from './tenancy.ts';

const keysMax = 2;
const triesMax = 20;

export class SigningClient extends RunClient {
  async step(step: FamilyStep<'signing'>): Promise<void> {
    const { keys, asked } = this.tenancy.signing;
    switch (step) {
      case 'dkg':
        return this.#makeKey();
      case 'sessions':
        return this.#sessions();
      case 'again': {
        const { waiting } = this.tenancy.signing;
        if (waiting.length > 0 && this.draw.chance(0.6)) {
          const [{ session, token, why }] = waiting.splice(this.draw.int(0, waiting.length - 1), 1) as [
            (typeof waiting)[0],
          ];
          await this.#approve(session, token, why);
          await this.#call('/v1/signing/share', { signing_session_id: session });
          return;
        }
        const intent = this.draw.pick([...asked.keys(), undefined]);
        if (intent !== undefined) await this.#sign(intent, asked.get(intent)!.key, 'DIRECT_ALLOWED');
        return;
      }
      default: {
        if (step === 'client_sign' && keys.length === 0) return this.#makeKey();
        const own = this.tenancy.wallets.filter(
          ({ provider, network }) => provider === 'self_hosted' && network !== networks.solana,
        );
        const usable = step === 'client_sign' ? keys : own.map(({ id }) => id);
        if (usable.length === 0) return;
        const mode = step === 'pending_sign' ? 'HUMAN_REQUIRED' : 'DIRECT_ALLOWED';
        await this.#sign(this.tenancy.key(`${this.tenancy.name}-invoice`), this.draw.pick(usable), mode);
      }
    }
  }

  async #makeKey(): Promise<void> {
    const { keys } = this.tenancy.signing;
    if (keys.length >= keysMax) return;
    const session = this.tenancy.key(`${this.tenancy.name}-treasury`);
    await this.#call('/v1/dkg/initiate', { session_id: session, threshold: 2, total_nodes: 3 });
    const { receipt } = await this.#call('/v1/dkg/shares', { session_id: session });
    if (receipt.reason_code === 'DKG_COMPLETED') keys.push(session);
  }

  /** One intent has one session that signs, and one signature, for any number of requests. */
  async #sign(intent: string, key: string, mode: string): Promise<void> {
    const { asked } = this.tenancy.signing;
    const message = createHash('sha256').update(intent).digest('base64');
    const facts = asked.get(intent) ?? { key, message, session: undefined, signature: undefined };
    asked.set(intent, facts);
    const opened = await this.#call('/v1/signing/initiate', {
      ...{ transaction_intent_id: intent, wallet_id: key, message_hash: message },
      approval_mode: mode,
    });
    const { signing_session_id: session } = opened;
    if (session === '') return;
    const {
      receipt,
      is_complete: isComplete,
      full_signature: signature,
    } = await this.#call('/v1/signing/share', {
      signing_session_id: session,
    });
    if (mode === 'HUMAN_REQUIRED' && isComplete && opened.receipt.reason_code !== 'DUPLICATE_INTENT') {
      found('decided-as-written', `${session} of ${intent} signs without the human that it asks for`);
    }
    if (!isComplete) {
      await this.#resume(session, opened.checkpoint?.resume_token ?? '', receipt.reason_code);
      return;
    }
    const { signature: before } = facts;
    if (before !== undefined && before !== signature) found('one-effect-a-key', `${intent} has two signatures`);
    facts.session = session;
    facts.signature = signature;
  }

  async #resume(session: string, token: string, why: string): Promise<void> {
    if (token === '') return;
    const { waiting } = this.tenancy.signing;
    if (this.draw.chance(0.6)) {
      waiting.push({ session, token, why });
      return;
    }
    await this.#approve(session, token, why);
  }

  /** The witness of a human, for a session that waits. */
  async #approve(session: string, token: string, why: string): Promise<void> {
    const witness = Buffer.from('seen').toString('base64');
    const { receipt } = await this.#call('/v1/sessions/resume', {
      ...{ session_id: session, resume_token: token, human_approval_witness: witness },
    });
    this.tenancy.landmarks.reach(`resume after ${why}: ${receipt.reason_code}`);
  }

  /** Each session once, each that signed with its signature, and no session of another tenant. */
  async #sessions(): Promise<void> {
    const { asked } = this.tenancy.signing;
    const signed = [...asked.values()].filter(({ signature }) => signature !== undefined);
    const sessions = await this.operator.list<{ id: string; signature: string | null }>(
      '/v1/sessions',
      'sessions',
      this.draw.int(2, 9),
    );
    const ids = sessions.map(({ id }) => id);
    const twice = ids.find((id, at) => ids.indexOf(id) !== at);
    if (twice !== undefined) found('pages-complete', `/v1/sessions lists ${twice} twice`);
    for (const { session, signature } of signed) {
      const listed = sessions.find(({ id }) => id === session);
      const shown = listed?.signature == null ? undefined : Buffer.from(listed.signature, 'hex').toString('base64');
      if (shown !== signature) found('pages-complete', `/v1/sessions shows ${session} with ${shown}, not ${signature}`);
    }
  }

  /** Calls again after 504: the gateway has waited for the coordinator up to its limit. */
  async #call(target: string, body: object) {
    for (let tries = 1; ; tries += 1) {
      const { status, body: answer } = await this.operator.call('POST', target, body);
      if (status === 200) {
        this.tenancy.landmarks.reach(`${target} ${answer.receipt.reason_code}`);
        return answer;
      }
      const isPassing = status === 504 && !this.tenancy.isCalm && tries < triesMax;
      if (!isPassing) found('changes-take-effect', `POST ${target}: ${status} ${JSON.stringify(answer)}`);
    }
  }
}
