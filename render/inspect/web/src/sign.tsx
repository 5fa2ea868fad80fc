import { stateWords, type State } from "./tree";

/** Sign is the sign of a state, with its word for screen readers. */
export function Sign({ state }: { state: State }) {
  const [sign, word] = stateWords[state];
  return (
    <span class="sign" title={word}>
      <span aria-hidden="true">{sign}</span>
      <span class="spoken">{word} </span>
    </span>
  );
}
