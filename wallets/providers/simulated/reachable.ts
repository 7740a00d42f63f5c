/** Without its Redis a simulated custodian is unreachable. */
import { asking } from '../../store/asking-redis.ts';
import { StoreUnavailable } from '../../store/contract.ts';
import { ProviderUnavailable } from '../port/port.ts';

/** Throws ProviderUnavailable whenever Redis does not answer. */
export async function reachable<T>(call: Promise<T>): Promise<T> {
  try {
    return await asking(call);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new ProviderUnavailable('the custodian does not answer');
    throw error;
  }
}
