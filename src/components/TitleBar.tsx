import React from 'react';
import { useDoctor } from '../context';
import { fileName } from '../format';
import { plain } from '../text';

/** Shows the panel's name, and the notebook that the report is about. */
export function TitleBar(props: { notebook: string | null }): JSX.Element {
  const { trans } = useDoctor();
  return (
    <div className="jp-KernelDoctor-bar">
      <span className="jp-KernelDoctor-brand">{trans.__('Kernel Doctor')}</span>
      {props.notebook !== null && (
        <span title={plain(props.notebook)}>
          {plain(fileName(props.notebook))}
        </span>
      )}
    </div>
  );
}
