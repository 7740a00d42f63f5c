/** Asking Redis, so that its callers meet one kind of failure: it did not answer, or refused. */
import { ReplyError } from 'ioredis';
import { redisRefusal } from '../actors/live/redis-refusal.ts';
import { StoreUnavailable } from './contract.ts';

/** A command that Redis does not understand is our own bug, and no trouble of Redis. */
const ourMistake = /^(ERR|WRONGTYPE|CROSSSLOT)/;

/** What ioredis says of a command while it is not connected (`enableOfflineQueue: false`). */
const neverSent = /^Stream isn't writeable/;

/** Throws StoreUnavailable whenever Redis is unreachable, too slow, loading, full or read-only. */
export async function asking<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ReplyError && ourMistake.test((error as Error).message)) throw error;
    const changedNothing = error instanceof ReplyError || neverSent.test(String((error as Error).message));
    throw new StoreUnavailable(`Redis ${redisRefusal(error)?.text ?? 'is not connected'}`, {
      cause: error,
      changedNothing,
    });
  }
}
