<?php

declare(strict_types=1);

namespace RateLite;

/**
 * Something failed: the store, the system, an argument. getCode() is one of the constants below,
 * or 0 where no code of the library applies; the message is one line that says what failed, on
 * what, and what to do. It never holds a key or a secret. Nothing was spent, though the attempt may
 * stay counted; but a hit that failed with EUNAVAILABLE may be spent, since its answer may have been lost.
 */
class RateLiteException extends \RuntimeException
{
    /** An argument is out of its range or of the wrong form. Mend the call. */
    public const EINVAL = -1;

    /** The policy text does not parse; the message names line and column. */
    public const EPOLICY = -2;

    /** The policy has no rule of that name, or no rule was named where there are several. */
    public const ENORULE = -3;

    /** Others held the store until the wait was over. Trying again later may succeed. */
    public const EBUSY = -4;

    /** The disk, the quota, or a server's memory is full. */
    public const EFULL = -5;

    /** Reading or writing the store failed. */
    public const EIO = -6;

    /** The system refused access to the store or its directory, or a server user, password or command. */
    public const EPERM = -7;

    /** The store, or the row that was asked for, is damaged. */
    public const ECORRUPT = -8;

    /** What stands at the path is not a ratelite store, or is of a newer format. It was left as it was. */
    public const ENOTSTORE = -9;

    /** This process was made by clone() and must not use the stores it inherited. */
    public const EFORK = -10;

    /** No file descriptor is free. */
    public const EMFILE = -11;

    /** No memory is left. */
    public const ENOMEM = -12;

    /** The store's server cannot be reached, or did not answer in time: then the call may have been counted. */
    public const EUNAVAILABLE = -13;

    /** A bug in ratelite was caught. Please report the message. */
    public const EINTERNAL = -14;
}
