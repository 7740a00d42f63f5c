/** Asking Redis, so that whoever asks learns of one kind of failure: it did not answer. */
import { ReplyError } from 'ioredis';
import { StoreUnavailable } from './contract.ts';

/** A command that Redis does not understand is our own bug, and no trouble of Redis. */
const ourMistake = /^(ERR|WRONGTYPE|CROSSSLOT)/;

/** Throws StoreUnavailable whenever Redis is away, too slow, loading, full or read-only. */
export async function asking<T>(reply: Promise<T>): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ReplyError && ourMistake.test((error as Error).message)) throw error;
    throw new StoreUnavailable('Redis did not answer', { cause: error });
  }
}
