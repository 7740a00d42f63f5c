/** The exports of the session store: the layout of its keys. */
export { changeOf, endingOf, openingOf } from './layout.ts';
