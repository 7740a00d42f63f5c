/** The data of the page's script. Columns have a value for each point in time; null: not measured. */
export interface PlotData {
  /** Seconds since the load began. */
  readonly atS: readonly number[];
  readonly perSecond: Columns;
  /** Milliseconds. */
  readonly latency: Columns;
  readonly inFlight: readonly number[];
  /** Parts of a core, by process. */
  readonly cpu: Columns;
  readonly stages: readonly { readonly name: string; readonly atS: number }[];
  readonly faults: readonly { readonly name: string; readonly fromS: number; readonly toS: number }[];
}

export type Columns = Readonly<Record<string, readonly (number | null)[]>>;
