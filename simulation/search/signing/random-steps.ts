/**
 * Random clients: their steps with keys and signing sessions during faults, and how patiently they finish after healing.
 */
import type { Story } from '../profiles.ts';
import { keyTerms } from './keys.ts';
import { type KeyPlan, StepWriter } from './step-writer.ts';
import { type SharedIntent, tellStory } from './stories.ts';

export class ClientPlan extends StepWriter {
  makeKey(key: KeyPlan): void {
    const { draw } = this;
    const { session, totalNodes, supplied } = key;
    const terms = keyTerms(key);
    if (key.wallet) {
      this.add({ call: 'make_key', ...terms, wallet_service: true, insist: this.#insists() });
      return;
    }
    if (supplied.length === 0 && draw.chance(0.7)) {
      this.add({ call: 'make_key', ...terms, insist: this.#insists() });
      return;
    }
    this.add({ call: 'initiate_dkg', ...terms, insist: true });
    this.mayWait();
    for (const sender of supplied) {
      for (let recipient = 1; recipient <= totalNodes; recipient += 1) {
        if (draw.chance(0.2))
          this.add({ call: 'exchange_dkg_shares', session, sender, recipient, client_supplied: 'wrong' });
        this.add({ call: 'exchange_dkg_shares', session, sender, recipient, client_supplied: 'right', insist: true });
      }
    }
    for (let left = draw.int(0, 2); left > 0 && supplied.length === 0; left -= 1) {
      const [sender, recipient] = [draw.int(0, totalNodes), draw.int(0, totalNodes)];
      this.add({ call: 'exchange_dkg_shares', session, sender, recipient });
    }
    this.add({ call: 'exchange_dkg_shares', session, insist: this.#insists() });
    // Shares that arrive when the key may be complete.
    for (const sender of supplied.slice(0, 1)) {
      const late = { call: 'exchange_dkg_shares', session, sender, recipient: draw.int(1, totalNodes) } as const;
      if (draw.chance(0.6)) this.add({ ...late, client_supplied: 'right' });
      if (draw.chance(0.6)) this.add({ ...late, client_supplied: 'wrong' });
      const real = draw.int(1, totalNodes);
      if (draw.chance(0.3)) this.add({ ...late, sender: real, client_supplied: 'wrong' });
    }
    if (draw.chance(0.3)) this.add({ call: 'exchange_dkg_shares', session });
    if (draw.chance(0.3)) this.add({ call: 'resume_session', session, token: draw.pick(['first', 'latest', 'wrong']) });
  }

  /** `intents`: of the whole scenario, so that clients meet at one. */
  tell(story: Story, key: KeyPlan, intents: SharedIntent[]): void {
    tellStory(this, story, key, intents);
  }

  wait(ms: number): void {
    this.add({ wait: { ms } });
  }

  /** After healing: the client completes its own sessions. */
  finish(healedMs: number): void {
    this.add({ wait: { ms: healedMs } });
    for (const session of this.patientSessions) {
      this.add({ call: 'resume_session', session, token: 'latest', witness: true, insist: true });
      this.add({ call: 'submit_signature_share', session, insist: true });
    }
  }

  /** The client insists on most keys, unless a node may lose the shares that it dealt. */
  #insists(): boolean {
    return this.draw.chance(0.7) && !this.swarm.losesState;
  }
}
