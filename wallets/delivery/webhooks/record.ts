/** A stored webhook. Its secrets are sealed. */
import { unchangedIn } from '../../../gateway/api/state-changes.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const webhookStatuses = ['enabled', 'disabled', 'suspended'] as const;
export type WebhookStatus = (typeof webhookStatuses)[number];

/** Of operations that send something now. */
export const webhookSending = unchangedIn<WebhookStatus>('enabled');

export interface WebhookSecret {
  /** `whsec_…`, sealed with `aboutSecret`. */
  readonly sealed: string;
  /** When it stops signing after a rotation; null: it is the newest. */
  readonly endsAtMs: number | null;
}

export interface WebhookRecord extends Versioned {
  /** Without the values of its query, if it has one: `sealedUrl` has the whole then. */
  readonly url: string;
  /** Sealed with `aboutUrl`. */
  readonly sealedUrl?: string;
  /** Event types, beginnings such as "wallet.*", or "*" alone. */
  readonly events: readonly string[];
  readonly description: string | null;
  readonly status: WebhookStatus;
  /** The newest first; at least one. */
  readonly secrets: readonly WebhookSecret[];
  /** When it was last suspended. */
  readonly suspendedAtMs?: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const webhookType: RecordType<WebhookRecord> = {
  name: 'webhook',
  status: ({ status }) => status,
  indices: ({ status }) => ['webhooks', `webhooks:status:${status}`],
};

/** What a webhook's sealed secrets are bound to. */
export function aboutSecret(tenant: string, webhookId: string): string {
  return `webhook/${tenant}/${webhookId}`;
}

/** What its whole URL is bound to. */
export function aboutUrl(tenant: string, webhookId: string): string {
  return `webhook/${tenant}/${webhookId}/url`;
}

export const webhooksMax = 20;

/**
 * The tenant's webhooks by id, in one record: it changes with every registration and removal, so that two at once cannot
 * both take the last place.
 */
export interface WebhookShelf extends Versioned {
  readonly webhookIds: readonly string[];
}

export const shelfId = 'webhook_shelf';

export const shelfType: RecordType<WebhookShelf> = { name: 'webhook_shelf', status: () => '', indices: () => [] };
