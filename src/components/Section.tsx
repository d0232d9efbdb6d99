import React, { useId } from 'react';

interface IProps {
  title: string;
  /** Shown at the right of the title. */
  aside?: React.ReactNode;
  children: React.ReactNode;
}

export function Section({ title, aside, children }: IProps): JSX.Element {
  const id = useId();
  return (
    <section className="jp-KernelDoctor-section" aria-labelledby={id}>
      <div className="jp-KernelDoctor-sectionHead">
        <h3 id={id}>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}
