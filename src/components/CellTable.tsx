import React, { useState } from 'react';
import { useDoctor } from '../context';
import { bytes, duration } from '../format';
import { ILiveCell } from '../rest';
import { Place } from '../notebooks';
import { visible } from '../text';
import { Section } from './Section';

type Column = 'start_s' | 'peak_bytes' | 'kept_bytes' | 'took_s';

const FEW = 12;

/** Lists the cells that ran with peak, what they kept, and duration; a click goes to the cell. */
export function CellTable(props: {
  cells: ILiveCell[];
  place: Place;
}): JSX.Element | null {
  const { trans, notebooks } = useDoctor();
  const [column, setColumn] = useState<Column>('start_s');
  const [all, setAll] = useState(false);
  const rows = props.cells
    .map(cell => ({
      ...cell,
      took_s: cell.end_s === null ? null : cell.end_s - cell.start_s
    }))
    .sort((a, b) => (b[column] ?? -Infinity) - (a[column] ?? -Infinity));
  if (rows.length === 0) {
    return null;
  }
  const columns: [Column, string][] = [
    ['start_s', trans.__('Cell')],
    ['peak_bytes', trans.__('Peak')],
    ['kept_bytes', trans.__('Kept')],
    ['took_s', trans.__('Time')]
  ];
  return (
    <Section title={trans.__('Cells')}>
      <table className="jp-KernelDoctor-table">
        <thead>
          <tr>
            {columns.map(([name, label]) => (
              <th
                key={name}
                scope="col"
                aria-sort={name === column ? 'descending' : undefined}
              >
                <button type="button" onClick={() => setColumn(name)}>
                  {label}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, all ? undefined : FEW).map((cell, i) => (
            <tr key={i}>
              <td>
                <button
                  type="button"
                  className="jp-KernelDoctor-link"
                  title={visible(cell.source)}
                  onClick={() => void notebooks.goTo(props.place, cell, null)}
                >
                  {`[${cell.execution_count ?? ' '}]`}{' '}
                  <code>{visible(cell.source)}</code>
                </button>
              </td>
              <td>{cell.peak_bytes === null ? '' : bytes(cell.peak_bytes)}</td>
              <td>{cell.kept_bytes === null ? '' : signed(cell.kept_bytes)}</td>
              <td>
                {cell.took_s === null
                  ? trans.__('running')
                  : duration(trans, cell.took_s)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!all && rows.length > FEW && (
        <button
          type="button"
          className="jp-KernelDoctor-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all %1', rows.length)}
        </button>
      )}
    </Section>
  );
}

/** Return "+1.2 GiB", "−80 MiB", "0" for less than one MiB. */
function signed(kept: number): string {
  if (Math.abs(kept) < 2 ** 20) {
    return '0';
  }
  return (kept > 0 ? '+' : '\u2212') + bytes(Math.abs(kept));
}
