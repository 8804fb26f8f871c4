// Parts that the lab's views share.

import type { ButtonHTMLAttributes, ComponentChildren } from "preact";

/** @param action  by which tests and styles find it */
export const Button = ({
  action,
  children,
  ...attributes
}: { action?: string; children: ComponentChildren } & ButtonHTMLAttributes) => (
  <button type="button" class="button" data-action={action} {...attributes}>
    {children}
  </button>
);

interface ChoiceProps {
  label: string;
  name: string;
  value: string;
  onChoose: (value: string) => void;
  children: ComponentChildren;
}

/** A choice of one of a few, with its label. */
export const Choice = ({ label, onChoose, ...rest }: ChoiceProps) => (
  <label>
    <span>{label}</span>
    <select {...rest} onChange={({ currentTarget }) => onChoose(currentTarget.value)} />
  </label>
);

type FilterProps = { name?: string; value: string; onFilter: (value: string) => void };

/** A field for a part of a name. */
export const Filter = ({ name, value, onFilter }: FilterProps) => (
  <label>
    <span>Filter</span>
    <input
      type="search"
      name={name}
      placeholder="part of a name"
      autocomplete="off"
      value={value}
      onInput={({ currentTarget }) => onFilter(currentTarget.value)}
    />
  </label>
);

type SectionProps = { name: string; title: string; hidden?: boolean; children: ComponentChildren };

/** A part of the page with its title. */
export const Section = ({ name, title, hidden = false, children }: SectionProps) => (
  <section class={`lab-section ${name}`} aria-labelledby={`${name}-title`} hidden={hidden}>
    <h2 id={`${name}-title`}>{title}</h2>
    {children}
  </section>
);

/** Texts by their terms. */
export const Terms = ({ terms }: { terms: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl>
    {terms.map(([term, text]) => (
      <div>
        <dt>{term}</dt>
        <dd>{text}</dd>
      </div>
    ))}
  </dl>
);
