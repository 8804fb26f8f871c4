// The fields of the playground's forms, each with its name.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export const Field = ({ text, children }: { text: string; children: ComponentChildren }) => (
  <label class="play-field">
    <span>{text}</span>
    {children}
  </label>
);

interface NumberFieldProps {
  text: string;
  name: string;
  value: number;
  min?: number;
  max?: number;
  step?: number | "any";
  required?: boolean;
  /** Gets each complete and valid number. */
  onNumber?: (value: number) => void;
}

export function NumberField({ text, value, onNumber, ...attributes }: NumberFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const typed = input.current?.value ?? "";
  // A number that is being typed is left as it is if it has the same value.
  const isSame = typed !== "" && Number(typed) === value;
  return (
    <Field text={text}>
      <input
        ref={input}
        type="number"
        step="any"
        autocomplete="off"
        {...attributes}
        value={isSame ? typed : String(value)}
        onInput={({ currentTarget: { value: given, validity } }) => {
          if (given !== "" && validity.valid) onNumber?.(Number(given));
        }}
      />
    </Field>
  );
}

export type Choice<T extends string> = readonly [value: T, text: string, isExcluded?: boolean];

/** @param groups  the choices below each heading; an empty heading for none */
export function Select<T extends string>({
  text,
  name,
  value,
  groups,
  onChoose,
}: {
  text: string;
  name: string;
  value: T;
  groups: readonly (readonly [heading: string, choices: readonly Choice<T>[]])[];
  onChoose: (value: T) => void;
}) {
  const choices = groups.flatMap(([, those]) => those);
  return (
    <Field text={text}>
      <select
        name={name}
        value={value}
        onInput={({ currentTarget }) => onChoose(choices[currentTarget.selectedIndex][0])}
      >
        {groups.map(([heading, those]) => {
          const options = those.map(([choice, title, isExcluded]) => (
            <option key={choice} value={choice} disabled={isExcluded}>
              {title}
            </option>
          ));
          return heading ? <optgroup label={heading}>{options}</optgroup> : options;
        })}
      </select>
    </Field>
  );
}

/** A few choices, side by side. */
export function Segmented<T extends string>({
  legend,
  name,
  value,
  choices,
  onChoose,
}: {
  legend: string;
  name: string;
  value: T;
  choices: readonly Choice<T>[];
  onChoose: (value: T) => void;
}) {
  return (
    <fieldset class="segmented">
      <legend>{legend}</legend>
      {choices.map(([choice, text, isExcluded]) => (
        <label key={choice}>
          <input
            type="radio"
            name={name}
            value={choice}
            checked={choice === value}
            disabled={isExcluded}
            onInput={() => onChoose(choice)}
          />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
