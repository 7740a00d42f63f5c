/**
 * What an operation does to the state of the record that it is about, as data beside the record's states. Its handler decides by
 * it whether the operation is allowed, its route carries it, and the random search compares it with answers.
 */

/** The states in which the operation succeeds, each with those that the record may have afterwards, also by work that it begins. */
export type StateChanges<S extends string = string> = Readonly<Partial<Record<S, readonly S[]>>>;

/** The states that may follow each. */
export type Transitions<S extends string> = Readonly<Record<S, readonly S[]>>;

export function unchangedIn<S extends string>(...states: readonly S[]): StateChanges<S> {
  return Object.fromEntries(states.map((state) => [state, [state]])) as unknown as StateChanges<S>;
}

/** From any of these states to `to`. */
export function becoming<S extends string>(to: S, ...states: readonly S[]): StateChanges<S> {
  return Object.fromEntries(states.map((state) => [state, [to]])) as unknown as StateChanges<S>;
}

/** To `to` from each state that it may follow. */
export function leadingTo<S extends string>(transitions: Transitions<S>, to: S): StateChanges<S> {
  const states = Object.keys(transitions) as S[];
  return becoming(to, ...states.filter((state) => transitions[state].includes(to)));
}

/** The same, and then whatever follows: work continues the record after the answer. */
export function continuing<S extends string>(transitions: Transitions<S>, changes: StateChanges<S>): StateChanges<S> {
  const states = Object.keys(changes) as S[];
  return Object.fromEntries(
    states.map((state) => {
      const reached = new Set(changes[state]);
      // A set in a loop also yields what is added meanwhile, so a circle ends.
      for (const each of reached) for (const next of transitions[each]) reached.add(next);
      return [state, [...reached]];
    }),
  ) as unknown as StateChanges<S>;
}

export function isAllowedIn<S extends string>(changes: StateChanges<S>, state: S): boolean {
  return changes[state] !== undefined;
}

/** For a refusal: "active or frozen". */
export function statesOf(changes: StateChanges): string {
  return Object.keys(changes).join(' or ');
}
