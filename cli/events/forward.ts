/** Forwards an event to a local URL, with the headers and the body of a webhook's delivery. One try each. */
import { systemTimers } from '../../core/actors/live/ports.ts';
import { signDelivery } from '../../wallets/delivery/deliveries/public.ts';
import { errorText } from '../common/failure.ts';

const timeoutMs = 15_000;

/** The result, in a few words for a line. Never rejects. */
export async function forward(url: string, secret: string, eventId: string, text: string): Promise<string> {
  const body = Buffer.from(text);
  const beganMs = performance.now();
  const took = () => `${Math.round(performance.now() - beganMs)} ms`;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'signmesh-listen',
        ...signDelivery([secret], eventId, systemTimers.epochMs(), body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return `${response.status} in ${took()}`;
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return `failed after ${took()}: ${errorText(cause)}`;
  }
}
