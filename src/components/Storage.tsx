import React, { useEffect, useState } from 'react';
import { IStorage } from '../archive';
import { useDoctor } from '../context';
import { bytes } from '../format';
import { plain } from '../text';
import { Button } from './Button';

/** Shows what the recordings take on the disk, and offers to delete those that were found, or all. */
export function Storage(props: {
  /** Null where nothing is filtered out. */
  found: number | null;
  remove: () => void;
}): JSX.Element {
  const { trans, model, archive } = useDoctor();
  const [storage, setStorage] = useState<IStorage | null>(null);
  const { rows } = model;
  useEffect(() => {
    archive
      .storage()
      .then(setStorage)
      .catch(() => setStorage(null));
  }, [archive, rows]);
  const { found, remove } = props;
  return (
    <div className="jp-KernelDoctor-actions">
      <small title={storage ? plain(storage.directory) : undefined}>
        {typeof storage?.bytes === 'number'
          ? trans.__(
              '%1 recordings, also of kernels that ended as asked: %2',
              rows.length,
              bytes(storage.bytes)
            )
          : trans.__('%1 recordings', rows.length)}
      </small>
      {found !== 0 && (
        <Button onClick={remove}>
          {found === null
            ? trans.__('Delete all…')
            : trans._n('Delete this one…', 'Delete these %1…', found)}
        </Button>
      )}
    </div>
  );
}
