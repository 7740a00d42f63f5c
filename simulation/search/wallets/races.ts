/** Simultaneous calls of several clients about one wallet or intent: their results must match some sequential order. */

import type { Draw } from '../../cluster/draw.ts';
import { found } from '../../service/invariants/finding.ts';
import type { Operator } from './operator.ts';
import type { OwnWallet } from './tenancy.ts';

/** A client of the same tenant. */
export interface Rival {
  transfer(wallet: OwnWallet): Promise<string | undefined>;
  setFrozen(walletId: string, isFrozen: boolean): Promise<void>;
  /** Makes a version of the policy `default` that decides otherwise. */
  turn(): Promise<void>;
  /** Makes a version of `default` under which the wallet may begin one or two transfers more. */
  limit(wallet: OwnWallet): Promise<void>;
  /** Makes two transfers under one idempotency key. */
  collide(wallet: OwnWallet, other: Operator): Promise<void>;
  /** Makes a version of a list of addresses. */
  list(): Promise<void>;
  tryVote(walletId: string, intentId: string, approves: boolean): Promise<void>;
  cancelOne(walletId: string, intentId: string): Promise<void>;
  settings(): object;
  /** Whether it succeeded. `expected`: only on this version. */
  change(walletId: string, settings: object, expected?: number): Promise<boolean>;
  /** Unless it must stay. */
  archive(wallet: OwnWallet): Promise<void>;
}

export async function race(draw: Draw, wallet: OwnWallet, operator: Operator, rivals: readonly Rival[]): Promise<void> {
  const [one, other] = [draw.pick(rivals), draw.pick(rivals)];
  const after = async (ms: number, run: () => Promise<unknown>): Promise<unknown> => {
    await operator.client.pause(ms);
    return run();
  };
  const shortly = (run: () => Promise<unknown>) => after(draw.int(1, 25), run);
  switch (
    draw.weighted({
      freeze: 3,
      policy: 4,
      list: 1,
      limit: 3,
      key: 1,
      spend: 2,
      votes: 2,
      cancel: 2,
      patch: 1,
      archive: 1,
    })
  ) {
    case 'freeze':
      await Promise.all([one.transfer(wallet), shortly(() => other.setFrozen(wallet.id, true))]);
      await after(draw.int(50, 1_500), () => other.setFrozen(wallet.id, false));
      return;
    case 'policy':
      await Promise.all([
        ...[1, 2, 3].map(() => shortly(() => one.transfer(wallet))),
        after(draw.int(5, 25), () => other.turn()),
      ]);
      return;
    case 'list':
      await Promise.all([one.transfer(wallet), shortly(() => other.list()), shortly(() => one.transfer(wallet))]);
      return;
    case 'limit':
      await one.limit(wallet);
      await Promise.all(rivals.slice(0, 3).map((rival) => after(draw.int(0, 4), () => rival.transfer(wallet))));
      return;
    case 'key':
      return one.collide(wallet, operator);
    case 'spend':
      await Promise.all([1, 2, 3].map(() => shortly(() => draw.pick(rivals).transfer(wallet))));
      return;
    case 'votes': {
      const id = await one.transfer(wallet);
      if (id === undefined) return;
      const voters = rivals.filter((rival) => rival !== one);
      await Promise.all(voters.map((voter) => shortly(() => voter.tryVote(wallet.id, id, draw.chance(0.8)))));
      return;
    }
    case 'cancel': {
      const id = await one.transfer(wallet);
      if (id === undefined) return;
      await Promise.all([
        shortly(() => other.cancelOne(wallet.id, id)),
        shortly(() => one.tryVote(wallet.id, id, true)),
      ]);
      return;
    }
    case 'patch': {
      const { body } = await operator.call('GET', `/v1/wallets/${wallet.id}`);
      const changes = rivals.slice(0, 3).map((rival) => rival.change(wallet.id, rival.settings(), body.version));
      const made = (await Promise.all(changes)).filter((isMade) => isMade).length;
      if (made > 1)
        found('changes-take-effect', `${made} changes of ${wallet.id} took place on version ${body.version}`);
      return;
    }
    case 'archive':
      await Promise.all([one.transfer(wallet), shortly(() => other.archive(wallet))]);
  }
}
