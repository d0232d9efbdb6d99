import React from 'react';
import { useDoctor } from '../context';
import { IFilter } from '../history';
import { plain } from '../text';

interface IProps {
  filter: IFilter;
  change: (filter: IFilter) => void;
  /** Values with their names. */
  notebooks: [string, string][];
  causes: [string, string][];
}

/** Asks what to look for in the history. */
export function HistoryFilter(props: IProps): JSX.Element {
  const { trans } = useDoctor();
  const { filter, change, notebooks, causes } = props;
  return (
    <div className="jp-KernelDoctor-filter" role="search">
      <input
        type="search"
        autoFocus
        className="jp-mod-styled"
        aria-label={trans.__('Search the history')}
        placeholder={trans.__('Search')}
        value={filter.text}
        onChange={event => change({ ...filter, text: event.target.value })}
      />
      <Choice
        label={trans.__('Notebook')}
        all={trans.__('All notebooks')}
        value={filter.notebook}
        options={notebooks}
        change={notebook => change({ ...filter, notebook })}
      />
      <Choice
        label={trans.__('Cause')}
        all={trans.__('All causes')}
        value={filter.cause}
        options={causes}
        change={cause => change({ ...filter, cause })}
      />
    </div>
  );
}

function Choice(props: {
  label: string;
  all: string;
  value: string;
  options: [string, string][];
  change: (value: string) => void;
}): JSX.Element {
  return (
    <select
      className="jp-mod-styled"
      aria-label={props.label}
      value={props.value}
      onChange={event => props.change(event.target.value)}
    >
      <option value="">{props.all}</option>
      {props.options.map(([value, name]) => (
        <option key={value} value={value}>
          {plain(name)}
        </option>
      ))}
    </select>
  );
}
