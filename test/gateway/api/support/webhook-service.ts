/** What the workers know of webhooks, where no worker runs: nothing waits. */
import { emptyQueue, type QueueDepth } from '../../../../wallets/delivery/webhooks/view.ts';

export const idleWebhookService = {
  announce: async (): Promise<void> => undefined,
  depthOf: async (): Promise<QueueDepth> => emptyQueue,
};
