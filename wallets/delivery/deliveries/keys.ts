/**
 * The Redis keys of webhooks beside their records. Under a tenant's prefix, so that one script may touch them:
 *
 * | Under `sm:{t:<tenant>}:` | Kind | What |
 * |---|---|---|
 * | `hk` | set | ids of the webhooks that have any of the following |
 * | `hk:<webhookId>` | hash | `c` cursor: sequence of the last event that was read; `f` failing since, ms, or absent |
 * | `hko:<webhookId>` | sorted set | deliveries that are outstanding: on their way in BullMQ; by the time of their putting there |
 * | `hkr:<webhookId>` | sorted set | deliveries that wait to be tried again, by the time that they fall due |
 *
 * The registry of due work (core/redis/due-work.ts) lists the tenants with pending work.
 *
 * A delivery that is not final stands in exactly one of the two sorted sets. Its record (`r:<id>`, as every record) also has
 * `t`, the tries that were made, and `q`, the sequence of its event.
 */

/** Shared by all of BullMQ's keys, which must lie in one slot. */
export const bullPrefix = '{sm-hooks}';
export const bullQueueName = 'webhooks';
